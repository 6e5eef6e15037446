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

package compressed

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// longestEvent limits the length of an event, in bytes: as long as client-go takes them.
const longestEvent = 16 << 20

var errLongEvent = fmt.Errorf("an event of the watch is longer than %d bytes", longestEvent)

// decoder decodes the events of a watch, all but the objects in them. It is used by one
// goroutine.
type decoder struct {
	body  io.Closer
	lines *bufio.Reader
	pack  Pack
	// text is that of the last event, in memory for the next one.
	text []byte
}

func newDecoder(body io.ReadCloser, pack Pack) *decoder {
	return &decoder{body: body, lines: bufio.NewReader(body), pack: pack}
}

// Decode implements watch.Decoder. It returns io.EOF at the end of the watch.
func (d *decoder) Decode() (watch.EventType, runtime.Object, error) {
	if err := d.read(); err != nil {
		return "", nil, err
	}
	var kind, object gjson.Result
	gjson.ParseBytes(d.text).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "type":
			kind = value
		case "object":
			object = value
		}
		return !kind.Exists() || !object.Exists()
	})
	text := d.text[object.Index : object.Index+len(object.Raw)]
	switch what := watch.EventType(kind.Str); what {
	case watch.Added, watch.Modified, watch.Deleted:
		obj, err := d.pack(text)
		return what, obj, err
	case watch.Bookmark:
		bookmark := &metav1.PartialObjectMetadata{}
		return what, bookmark, json.Unmarshal(text, bookmark)
	case watch.Error:
		status := &metav1.Status{}
		return what, status, json.Unmarshal(text, status)
	default:
		return "", nil, fmt.Errorf("an event of the watch is of an unknown type, %.32q", kind.Str)
	}
}

// read reads the text of an event. API servers write each into a line of its own; where
// one has several, they are an event once they are valid together.
func (d *decoder) read() error {
	d.text = d.text[:0]
	for {
		part, err := d.lines.ReadSlice('\n')
		d.text = append(d.text, part...)
		switch {
		case len(d.text) > longestEvent:
			return errLongEvent
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(bytes.TrimSpace(d.text)) > 0 && errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case gjson.ValidBytes(d.text):
			return nil
		}
	}
}

// Close implements watch.Decoder.
func (d *decoder) Close() { _ = d.body.Close() }
