package amqpwire

import "testing"

// typical are properties of a service's event: content-type, delivery-mode, message-id and three headers.
func typical() []byte {
	fields := "\x06tenantS" + long("customer-4711") + "\x07versionl\x00\x00\x00\x00\x00\x00\x00\x03" + "\x0btraceparentS" + long("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	return flagged(0xb080, "\x10application/json"+long(fields)+"\x02"+"\x2401977e2c-5c7e-7b0a-9c3a-6e1f0d3b2a11")
}

func BenchmarkReadTypical(b *testing.B) {
	raw := typical()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendTypical(b *testing.B) {
	raw, edit, dst := typical(), ours(), make([]byte, 0, 1024)
	edit.ClearUserID = true
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Append(dst, raw, edit); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendPublish1KiB(b *testing.B) {
	c, dst := Content{Exchange: "orders", Key: "eu.nl.created", Mandatory: true, Properties: typical(), Body: make([]byte, 1024)}, make([]byte, 0, 4096)
	b.SetBytes(int64(len(AppendPublish(dst, 1, 131072, &c))))
	b.ReportAllocs()
	for b.Loop() {
		AppendPublish(dst, 1, 131072, &c)
	}
}
