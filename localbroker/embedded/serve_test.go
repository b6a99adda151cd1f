package embedded

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// listenAndServe serves a broker on a free port until the test ends, and returns its address.
func listenAndServe(t testing.TB, b *Broker) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- b.Serve(context.Background(), l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-served; !errors.Is(err, ErrClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return l.Addr().String()
}
