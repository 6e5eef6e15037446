//go:build linux

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

package node

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Image is what containers of tests run, and sandboxes: the programs pod,
// crictl and kausality-cri, and a shell.
const Image = "images.example/pod:1"

// Registry answers who pulls images, whatever their name, with the one that it has.
type Registry struct {
	// URL is where it answers.
	URL string

	// blobs are what it has, by digest.
	blobs map[string][]byte
	// manifest is the digest of the image's.
	manifest string
}

// The media types of an image.
const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar"
)

// StartRegistry makes an image of programs in a folder, and answers until this program
// ends.
func StartRegistry(bin string) (*Registry, error) {
	r := &Registry{blobs: map[string][]byte{}}
	layer, err := layerOf(bin)
	if err != nil {
		return nil, err
	}
	if err := r.add(layer); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
	if err != nil {
		return nil, err
	}
	r.URL = "http://" + listener.Addr().String()
	server := &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	return r, nil
}

// descriptor names a blob, in the words of OCI.
type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int    `json:"size"`
}

// keep adds a blob.
func (r *Registry) keep(mediaType string, data []byte) descriptor {
	sum := sha256.Sum256(data)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	r.blobs[digest] = data
	return descriptor{mediaType, digest, len(data)}
}

// add makes an image of a layer.
func (r *Registry) add(layer []byte) error {
	inLayer := r.keep(layerType, layer)
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/bin/pod"}, "Env": []string{"PATH=/bin"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{inLayer.Digest}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType,
		"config": r.keep(configType, config), "layers": []descriptor{inLayer},
	})
	if err != nil {
		return err
	}
	r.manifest = r.keep(manifestType, manifest).Digest
	return nil
}

// ServeHTTP implements http.Handler: what pulling takes of a registry.
func (r *Registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	at := strings.LastIndex(request.URL.Path, "/")
	digest := request.URL.Path[at+1:]
	kind := "application/octet-stream"
	if strings.HasSuffix(request.URL.Path[:at], "/manifests") {
		kind = manifestType
		if !strings.HasPrefix(digest, "sha256:") {
			digest = r.manifest
		}
	}
	data, found := r.blobs[digest]
	switch {
	case request.URL.Path == "/v2/":
	case !found:
		http.NotFound(w, request)
	default:
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Docker-Content-Digest", digest)
		http.ServeContent(w, request, "", time.Time{}, bytes.NewReader(data))
	}
}

// layerOf has the programs of the image, and folders that are mounted upon.
func layerOf(bin string) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range []string{"bin", "dev", "etc", "proc", "run", "sys", "tmp", "var", "var/log"} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755}); err != nil {
			return nil, err
		}
	}
	for name, path := range map[string]string{
		"bin/pod": filepath.Join(bin, "pod"), "bin/crictl": filepath.Join(bin, "crictl"), "bin/busybox": filepath.Join(bin, "busybox"),
		// As it is in its own image.
		"kausality-cri": filepath.Join(bin, "..", "kausality-cri"),
	} {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%w: run \"make build cri-binaries\" first", err)
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(data))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(data); err != nil {
			return nil, err
		}
	}
	applets, err := exec.Command(filepath.Join(bin, "busybox"), "--list").Output() //nolint:noctx // it does not wait
	if err != nil {
		return nil, err
	}
	for applet := range strings.FieldsSeq(string(applets)) {
		if applet == "busybox" {
			continue
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + applet, Linkname: "busybox", Mode: 0o777}); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
