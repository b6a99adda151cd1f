package demo

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// terminal opens a pseudo-terminal (pty(7)): a program writes on on, and what its screen gets is read from screen.
func terminal(t *testing.T) (on, screen *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	locked, number := int32(0), int32(0)
	control(t, screen, syscall.TIOCSPTLCK, &locked)
	control(t, screen, syscall.TIOCGPTN, &number)
	on, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { on.Close() })
	return on, screen
}

// control makes an ioctl call that takes or gives a number.
func control(t *testing.T, f *os.File, request uintptr, value *int32) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
		t.Fatalf("ioctl %#x: %v", request, errno)
	}
}
