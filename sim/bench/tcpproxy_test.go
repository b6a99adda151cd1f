package main

import (
	"io"
	"net"
	"testing"
)

func TestTCPProxyPassesAndCountsBothDirections(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		conn, err := echo.Accept()
		if err == nil {
			io.Copy(conn, conn)
			conn.Close()
		}
	}()
	p, err := newTCPProxy(echo.Addr().String())
	if err != nil {
		t.Fatal(err)
	}

	conn, err := net.Dial("tcp", p.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(conn, got); err != nil {
		t.Fatal(err)
	}

	p.close() // bytes count when they are written: now no write is under way
	if string(got) != "hello" || p.bytes.Load() != 10 {
		t.Errorf("got %q, counted %d; want hello, 10", got, p.bytes.Load())
	}
}
