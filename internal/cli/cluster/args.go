/*
Copyright 2026 The Kausality Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package cluster

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kausality.io/operator/internal/cli/exit"
)

// OneObject lets a command have the arguments of one object, KIND/NAME or KIND NAME, or none.
func OneObject(cmd *cobra.Command, args []string) error {
	if len(args) < 2 || len(args) == 2 && !strings.Contains(args[0]+args[1], "/") {
		return nil
	}
	return exit.With(exit.Usage, fmt.Errorf("%s takes one object, as KIND/NAME or KIND NAME, and there are several: %s; ask about each for itself",
		cmd.Name(), strings.Join(args, " ")))
}
