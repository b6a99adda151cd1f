package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloudqueue/router/site"
)

// aMountOf gives the router's file of a site a filled store of ams, where its own should be.
func aMountOf(t *testing.T, name string) (file, store string) {
	t.Helper()
	file = routerFile(t, name)
	store = filepath.Join(filepath.Dir(file), "data", "spool")
	fillStore(t, store)
	return file, store
}

// opening is a router that starts and ends at once.
func opening(ctx context.Context, config *site.Config, log *slog.Logger) error {
	s, err := site.Open(ctx, config, "test", log)
	if err != nil {
		return err
	}
	return s.Close()
}

var otherHome = []string{"it belongs to site ams of federation cloudqueue, and the router's file says site nyc of federation cloudqueue",
	"mount this site's own folder, or correct store.url, site or federation in the router's file"}

func TestARouterOnTheStoreOfAnotherSiteSaysWhoseItIsAndWhatToDo(t *testing.T) {
	file, store := aMountOf(t, "nyc")
	before := bytesOf(t, store)

	runApp(t, &app{parts: parts{router: opening}}, "router", "-c", file).want(t, exitUsage, append(otherHome, "store "+store)...)

	if after := bytesOf(t, store); after != before {
		t.Errorf("the store of another site was changed: %d bytes before, %d after", len(before), len(after))
	}
}

func TestDoctorFindsTheStoreOfAnotherSite(t *testing.T) {
	file, _ := aMountOf(t, "nyc")
	cloudqueue(t, "doctor", "-c", file, "--timeout", "2s").want(t, exitNo, append(otherHome, "XX  store: ")...)
}

func TestWhatChangesAStoreRefusesThatOfAnotherSite(t *testing.T) {
	file, store := aMountOf(t, "nyc")
	before := bytesOf(t, store)
	for _, line := range []string{"spool new-id", "spool reseal --why mistaken --yes", "spool void --corrupt --why mistaken --yes"} {
		cloudqueue(t, append(strings.Fields(line), "-c", file)...).want(t, exitUsage, otherHome...)
	}
	if after := bytesOf(t, store); after != before {
		t.Errorf("the store of another site was changed: %d bytes before, %d after", len(before), len(after))
	}
}

func TestWhatReadsAStoreReadsThatOfAnotherSiteAndSaysWhoseItIs(t *testing.T) {
	file, _ := aMountOf(t, "nyc")
	cloudqueue(t, "spool", "ls", "-c", file).want(t, exitOK, "ams/orders")
	cloudqueue(t, "spool", "cat", "ams/orders", "-c", file).want(t, exitOK, "6  2025-11-30")
	cloudqueue(t, "books", "--offline", "-c", file).want(t, exitOK, "the books balance", "site ams of federation cloudqueue")
}

func TestInitWritesTheSiteOfTheRoutersFileAndNeedsOne(t *testing.T) {
	file := routerFile(t, "nyc")
	url := "file://" + filepath.Join(t.TempDir(), "spool")
	cloudqueue(t, "spool", "init", url, "-c", filepath.Join(t.TempDir(), "none.yaml")).want(t, exitUsage, "name the router's file with --config")
	cloudqueue(t, "spool", "init", url, "-c", file).want(t, exitOK, url, "of site nyc of federation cloudqueue")
	cloudqueue(t, "spool", "new-id", url).want(t, exitOK)
	cloudqueue(t, "books", "--offline", "--store", url).want(t, exitOK, "site nyc of federation cloudqueue")
}

func TestDoctorSaysWhatHelpsAStoreWithoutAReadableIdentity(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"of 0 bytes": func(path string) error { return os.Truncate(path, 0) },
		"changed":    func(path string) error { return os.WriteFile(path, []byte("cloudqueue store 1\n"), 0o600) },
		"missing":    os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			file, store := aMountOf(t, "ams")
			if err := damage(filepath.Join(store, "STORE")); err != nil {
				t.Fatal(err)
			}

			cloudqueue(t, "doctor", "-c", file, "--timeout", "2s").want(t, exitNo, "who the store is cannot be read",
				"to do: put the file STORE alone back from a backup of this store", "it can be written again from the segments")
		})
	}
}

// bytesOf is all that stands in a folder.
func bytesOf(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(e.Name() + "\n" + string(content))
	}
	return all.String()
}
