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

package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// ErrNotFound says that the cloud does not have an instance.
var ErrNotFound = errors.New("the cloud has no such instance")

// Client asks the cloud, as a provider does on somebody's behalf.
type Client struct {
	// URL is where the cloud serves.
	URL string
	// By is on whose behalf it is asked.
	By string
	// HTTP makes the requests; http.DefaultClient if nil.
	HTTP *http.Client
}

// Do asks the cloud to observe or change an instance, and returns what it is like
// then. Only Create and Update have parameters.
func (c Client) Do(ctx context.Context, verb Verb, name string, asked Parameters) (Instance, error) {
	method := map[Verb]string{Observe: http.MethodGet, Create: http.MethodPost, Update: http.MethodPatch, Delete: http.MethodDelete}[verb]
	var instance Instance
	err := c.request(ctx, method, instancesPath+name, asked, &instance)
	return instance, err
}

// Calls returns what the log has of an instance. The whole log becomes long: providers look at all
// that there is every few seconds.
func (c Client) Calls(ctx context.Context, name string) (Calls, error) {
	var calls Calls
	err := c.request(ctx, http.MethodGet, callsPath+name, nil, &calls)
	return calls, err
}

// Peek tells what an instance is like, without a call that is seen. The error is
// ErrNotFound if there is none.
func (c Client) Peek(ctx context.Context, name string) (Parameters, error) {
	var instance Instance
	err := c.request(ctx, http.MethodGet, controlPath+name, nil, &instance)
	return instance.Parameters, err
}

// Drift changes parameters of an instance behind everybody's back.
func (c Client) Drift(ctx context.Context, name string, to Parameters) error {
	return c.request(ctx, http.MethodPatch, controlPath+name, to, nil)
}

// Lose makes an instance vanish behind everybody's back.
func (c Client) Lose(ctx context.Context, name string) error {
	return c.request(ctx, http.MethodDelete, controlPath+name, nil, nil)
}

// Inject makes the cloud misbehave.
func (c Client) Inject(ctx context.Context, fault Fault) error {
	return c.request(ctx, http.MethodPost, faultsPath, fault, nil)
}

// Clear takes back all faults of an instance, and has its calls go on that are delayed.
func (c Client) Clear(ctx context.Context, name string) error {
	return c.request(ctx, http.MethodDelete, faultsPath+"/"+name, nil, nil)
}

func (c Client) request(ctx context.Context, method, path string, body, into any) error {
	var content io.Reader = http.NoBody
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, content)
	if err != nil {
		return err
	}
	request.Header.Set(CallerHeader, c.By)
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // It was read, or is of no use.
	switch {
	case response.StatusCode == http.StatusNotFound:
		return ErrNotFound
	case response.StatusCode >= http.StatusBadRequest:
		message, err := io.ReadAll(response.Body)
		return errors.Join(fmt.Errorf("%s", strings.TrimSpace(string(message))), err)
	case into == nil:
		return nil
	}
	return json.NewDecoder(response.Body).Decode(into)
}
