package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWithoutARouterAndItsStoreTheNextCommandMakesTheStore(t *testing.T) {
	for name, prepare := range map[string]func(dir string) error{
		"missing": func(string) error { return nil },
		"empty":   func(dir string) error { return os.MkdirAll(dir, 0o700) },
		"not initialised": func(dir string) error {
			return os.MkdirAll(filepath.Join(dir, "lost+found"), 0o700)
		},
	} {
		for _, line := range []string{"status", "books", "parking list", "spool void ams/orders 1-2 --reason corrupt --yes"} {
			t.Run(name+"/"+line, func(t *testing.T) {
				file := routerFile(t, "ams")
				store := filepath.Join(filepath.Dir(file), "data", "spool")
				if err := prepare(store); err != nil {
					t.Fatal(err)
				}

				got := cloudqueue(t, append(strings.Fields(line), "-c", file)...)

				got.want(t, exitUnreachable, "no router answers", "there is no store in "+store,
					"to do: mount its disk; or, for a new site: cloudqueue spool init --config "+file+" file://"+store+"; then start the router with `cloudqueue router --config "+file+"`")
			})
		}
	}
}

func TestTheCommandThatStatusNamesMakesTheStore(t *testing.T) {
	file := routerFile(t, "ams")
	data := filepath.Join(filepath.Dir(file), "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	_, command, found := strings.Cut(cloudqueue(t, "status", "-c", file).errs, "for a new site: cloudqueue ")
	if !found {
		t.Fatal("no command")
	}
	command, _, _ = strings.Cut(command, ";")

	cloudqueue(t, strings.Fields(command)...).want(t, exitOK)

	got := cloudqueue(t, "status", "-c", file)
	got.want(t, exitUnreachable, "no router answers", "start the router with `cloudqueue router")
	if strings.Contains(got.errs, "spool init") {
		t.Errorf("it is made, and status says: %s", got.errs)
	}
}

func TestWithoutARouterAnUnreadableStoreIsNamedAndNotMadeAgain(t *testing.T) {
	file := routerFile(t, "ams")
	store := filepath.Join(filepath.Dir(file), "data", "spool")
	if err := os.MkdirAll(filepath.Dir(store), 0o700); err != nil {
		t.Fatal(err)
	}
	cloudqueue(t, "spool", "init", "-c", file).want(t, exitOK)
	if err := os.WriteFile(filepath.Join(store, "STORE"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}

	got := cloudqueue(t, "status", "-c", file)

	got.want(t, exitUnreachable, "no router answers", "none starts on its store: ", store, "to do: cloudqueue doctor --config "+file)
	if strings.Contains(got.errs, "spool init") {
		t.Errorf("a store with messages is to be made again: %s", got.errs)
	}
}

func TestASocketThatIsNamedSaysNothingOfAStore(t *testing.T) {
	got := cloudqueue(t, "status", "-c", routerFile(t, "ams"), "--socket", filepath.Join(t.TempDir(), "s"))
	got.want(t, exitUnreachable, "no router answers")
	if strings.Contains(got.errs, "store") {
		t.Errorf("status says: %s", got.errs)
	}
}
