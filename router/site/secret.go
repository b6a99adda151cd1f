package site

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"cloudqueue/topology/yamlfile"
)

// Secret says where a secret is, file:/path or env:NAME, and never what it is. Empty: there is none.
type Secret string

// UnmarshalText takes a reference. Anything else was reported by yamlfile, which looks for secrets, and stays out of memory.
func (s *Secret) UnmarshalText(text []byte) error {
	if !yamlfile.Reference(string(text)) {
		return nil
	}
	if _, name, _ := strings.Cut(string(text), ":"); name == "" {
		return &yamlfile.Mistake{What: "this reference names nothing", Write: "file:/path or env:NAME"}
	}
	*s = Secret(text)
	return nil
}

// maxSecret bounds a file's bytes (chosen: far over any password, and a wrong path to a large file ends soon).
const maxSecret = 64 << 10

// Resolve gives the secret. A file's last line end is not part of it. An error names the reference, never the secret.
func (s Secret) Resolve() (string, error) {
	kind, name, _ := strings.Cut(string(s), ":")
	switch {
	case s == "":
		return "", nil
	case kind == "env":
		return readEnvironment(name)
	}
	value, err := readSecretFile(name)
	if err != nil {
		return "", fmt.Errorf("read secret %s: %w", s, err)
	}
	return value, nil
}

func readEnvironment(name string) (string, error) {
	value, ok := os.LookupEnv(name)
	if !ok {
		return "", fmt.Errorf("the environment variable %s is not set: set it, or write file:/path instead", name)
	}
	return value, nil
}

func readSecretFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() // read only
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", err
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	switch {
	case len(b) > maxSecret:
		return "", fmt.Errorf("it has over %d bytes", maxSecret)
	case value == "":
		return "", errors.New("it is empty")
	}
	return value, nil
}
