//go:build linux

// Package smalldisk is a disk that a test fills: a file system of its own, a tmpfs.
//
// It stands below the tests of localdir, router/site and sim/stories, which all need one; no program links it. It needs
// root, as mount(8) does.
package smalldisk

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// T is what is asked of a test: *testing.T is one. Outside of sim nothing but tests may import testing
// (layers_test.go).
type T interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Mount gives dir so many bytes of its own until the test ends. What uses them ends in a cleanup that is registered
// later.
func Mount(t T, dir string, size int) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size)); err != nil {
		t.Fatalf("mount a tmpfs (this test needs root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
}

// Resize changes what Mount gave.
func Resize(t T, dir string, size int) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", size)); err != nil {
		t.Fatal(err)
	}
}

// Fill writes a file until its disk has no space, as if somebody else had taken it.
func Fill(t T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if err := errors.Join(err, f.Close()); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}
