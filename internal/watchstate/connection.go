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

package watchstate

import (
	"fmt"
	"os"
)

// lostConnection are the variables by which client-go is told when to take a connection
// for lost on which nothing comes any more, although nobody has closed it: after so many
// seconds it asks for a sign of life, and waits as many for it. By default it is 45 seconds
// until anybody knows, in which requests would be decided by what was true before. A busy
// API server answers such a question at once, as it does not get to any handler.
var lostConnection = map[string]string{
	"HTTP2_READ_IDLE_TIMEOUT_SECONDS": "3",
	"HTTP2_PING_TIMEOUT_SECONDS":      "5",
}

// NoticeLostConnections has all clients that are made from now on notice within eight
// seconds that a connection is lost, unless the environment says another time.
func NoticeLostConnections() error {
	for name, value := range lostConnection {
		if _, set := os.LookupEnv(name); set {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
	}
	return nil
}
