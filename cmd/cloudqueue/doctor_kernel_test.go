package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDoctorSaysHowToRaiseTheUDPBuffers(t *testing.T) {
	for name, c := range map[string]struct {
		files     map[string]string
		level     level
		what, fix string
	}{
		"enough":       {map[string]string{"rmem_max": "7340032\n", "wmem_max": "7500000\n"}, levelGood, "the kernel grants 7.00 MiB", ""},
		"both low":     {map[string]string{"rmem_max": "212992\n", "wmem_max": "212992\n"}, levelSlow, "net.core.rmem_max is 208 KiB and net.core.wmem_max is 208 KiB", "sysctl -w net.core.rmem_max=7340032 net.core.wmem_max=7340032"},
		"one low":      {map[string]string{"rmem_max": "212992\n", "wmem_max": "7340032\n"}, levelSlow, "net.core.rmem_max is 208 KiB, QUIC wants 7.00 MiB", "sysctl -w net.core.rmem_max=7340032;"},
		"a container":  {nil, levelUnknown, "it shows no net.core.rmem_max here", ""},
		"not a number": {map[string]string{"rmem_max": "much\n"}, levelUnknown, "net.core.rmem_max: ", "sysctl net.core.rmem_max"},
	} {
		kernel := t.TempDir()
		if err := os.MkdirAll(filepath.Join(kernel, "net/core"), 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range c.files {
			if err := os.WriteFile(filepath.Join(kernel, "net/core", file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d := doctor{kernel: kernel}
		got := d.checkUDPBuffers(t.Context())
		if len(got) != 1 || got[0].Level != c.level || !strings.Contains(got[0].What, c.what) || !strings.Contains(got[0].Fix, c.fix) {
			t.Errorf("%s: %+v, want %s, %q, %q", name, got, c.level, c.what, c.fix)
		}
	}
}
