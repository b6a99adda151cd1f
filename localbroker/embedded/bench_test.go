package embedded

import (
	"bufio"
	"net"
	"testing"
)

// The benchmarks speak to the broker over loopback with prepared bytes, so that what they measure is the broker and the
// kernel. One operation is one message of 1 KiB.

// benchClient is a connection with a handshake done and channel 1 open.
type benchClient struct {
	net.Conn
	b       *testing.B
	in      frameReader
	payload []byte
}

func dialBench(b *testing.B, address string, commands ...string) *benchClient {
	b.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	if _, err := conn.Write(conversationOf(commands...)); err != nil {
		b.Fatal(err)
	}
	in := frameReader{in: bufio.NewReaderSize(conn, 1<<16), max: 1 << 17}
	return &benchClient{Conn: conn, b: b, in: in, payload: make([]byte, 1<<17)}
}

// readUntil reads frames until enough says so.
func (c *benchClient) readUntil(enough func(start frameStart, payload []byte) bool) {
	c.b.Helper()
	for {
		start, err := c.in.head()
		if err != nil {
			c.b.Fatal(err)
		}
		payload := c.payload[:start.size]
		if err := c.in.payload(start, payload); err != nil {
			c.b.Fatal(err)
		}
		if enough(start, payload) {
			return
		}
	}
}

func isDeclared(start frameStart, payload []byte) bool {
	d := decoder{rest: payload}
	return start.kind == frameMethod && methodID(d.long()) == queueDeclareOK
}

func isBody(start frameStart, _ []byte) bool { return start.kind == frameBody }

// A publisher in confirm mode with at most 1,000 messages under way, in bursts of 50; the queue keeps the last 1,000.
func BenchmarkPublishConfirm1KiB(b *testing.B) {
	address := listenAndServe(b, New(Config{}))
	client := dialBench(b, address, "confirm.select", "queue.declare q {x-max-length=I:1000}")
	burst := []byte(nil)
	for range 50 {
		burst = append(burst, encodePublish(1, []string{`""`, "q", "zeros:1024", "delivery-mode=2"})...)
	}
	client.readUntil(isDeclared)
	sent, acked := 0, 0
	await := func(n int) {
		if acked < n {
			client.readUntil(func(_ frameStart, p []byte) bool {
				d := decoder{rest: p[4:]}
				acked = int(d.longlong())
				return acked >= n
			})
		}
	}
	b.SetBytes(1024)
	b.ReportAllocs()
	for b.Loop() {
		if sent++; sent%50 == 0 {
			await(sent - 1000)
			if _, err := client.Write(burst); err != nil {
				b.Fatal(err)
			}
		}
	}
	await(sent / 50 * 50)
}

// A consumer with prefetch 1,000 that acks every 100; another connection keeps the queue full.
func BenchmarkDeliver1KiB(b *testing.B) {
	broker := New(Config{})
	address := listenAndServe(b, broker)
	publisher := dialBench(b, address, "confirm.select", "queue.declare q")
	burst := []byte(nil)
	for range 100 {
		burst = append(burst, encodePublish(1, []string{`""`, "q", "zeros:1024"})...)
	}
	publisher.readUntil(isDeclared)
	client := dialBench(b, address, "basic.qos 0 1000", "basic.consume q c")
	received := 0
	b.SetBytes(1024)
	b.ReportAllocs()
	for b.Loop() {
		if received%100 == 0 {
			if _, err := publisher.Write(burst); err != nil {
				b.Fatal(err)
			}
		}
		client.readUntil(isBody)
		if received++; received%100 == 0 {
			ack := append(appendLonglong(nil, uint64(received)), 1)
			if _, err := client.Write(appendMethodFrame(nil, 1, basicAck, ack)); err != nil {
				b.Fatal(err)
			}
		}
	}
}
