package federation

// HELLO:
//
//	field              size       unit, valid
//	min, max version   2, 2       of the wire; min ≤ max
//	federation         u8 + ≤255  id of the federation; text
//	site               u8 + 1..63
//	router             u8 + ≤255  for people; text
//	store id           16
//	born               8          ms
//	epoch              8
//	last LSN           8          durable when it was said
//	openings           1 + n × 16 n ≤ 64; {epoch 8, last LSN 8} of the store's earlier openings, ascending
//	boot id            16
//	topology version   8
//	topology digest    32
//	now                8          ms, the sender's wall clock
//	max batch          4          bytes of a batch that the sender takes
//	codecs             4          bit n: codec n
//	link id            8          the same on all connections of a link
//	connection         1          index in the link
//	capabilities       8          reserved: 0 in version 1; a bit that a reader does not know means nothing to it
//	TLVs
//
// HELLO_ACK: length u32, HELLO of the answering side; verdict u8; text u8 + ≤255; TLVs.
// A reader refuses a bad field with ErrCorrupt and closes the connection. (docs/design.md section 13, Wire.)

func (w *writer) hello(h *Hello) {
	if h.MinVersion > h.MaxVersion {
		w.fail("wire versions %d to %d", h.MinVersion, h.MaxVersion)
	}
	w.u16(h.MinVersion)
	w.u16(h.MaxVersion)
	w.text(h.Federation)
	w.site(h.Site)
	w.text(h.Router)
	w.bytes(h.Store[:])
	w.time(h.Born)
	w.u64(uint64(h.Epoch))
	w.u64(uint64(h.LastLSN))
	w.openings(h.Openings)
	w.bytes(h.Boot[:])
	w.u64(h.TopologyVersion)
	w.bytes(h.TopologyDigest[:])
	w.time(h.Now)
	w.u32(h.MaxBatch)
	w.u32(h.Codecs)
	w.u64(h.LinkID)
	w.u8(h.Connection)
	w.u64(h.Capabilities)
	w.tlvs(h.Extensions)
}

func (r *reader) hello() Hello {
	h := Hello{MinVersion: r.u16(), MaxVersion: r.u16(), Federation: r.text(), Site: r.site(), Router: r.text()}
	r.refuse(h.MinVersion > h.MaxVersion, "wire versions %d to %d", h.MinVersion, h.MaxVersion)
	h.Store = r.id()
	h.Born = r.time()
	h.Epoch = Epoch(r.u64())
	h.LastLSN = LSN(r.u64())
	h.Openings = r.openings()
	h.Boot = r.id()
	h.TopologyVersion = r.u64()
	h.TopologyDigest = r.digest()
	h.Now = r.time()
	h.MaxBatch = r.u32()
	h.Codecs = r.u32()
	h.LinkID = r.u64()
	h.Connection = r.u8()
	h.Capabilities = r.u64()
	h.Extensions = r.extensions()
	return h
}

func (w *writer) helloAck(a *HelloAck) {
	w.nested(func() { w.hello(&a.Hello) })
	w.verdict(a.Verdict)
	w.text(a.Text)
	w.tlvs(a.Extensions)
}

func (r *reader) helloAck() HelloAck {
	in := r.nested()
	a := HelloAck{Hello: in.hello()}
	r.nest(in.end("hello"))
	a.Verdict = r.verdict()
	a.Text = r.text()
	a.Extensions = r.extensions()
	return a
}

// HEARTBEAT:
//
//	0      8      16        24                   56
//	├──────┼──────┼─────────┼────────────────────┼──────┐
//	│ sent │ echo │ backlog │ 32 zero bytes      │ TLVs │
//	└──────┴──────┴─────────┴────────────────────┴──────┘
//
// Sent and echo in ms, backlog in bytes. With its header it takes 64 bytes: a packet of at most 42 draws no stateless
// reset from a peer that has forgotten the connection (docs/decisions.md, M6).
const heartbeatPadding = 32

func (w *writer) heartbeat(h *Heartbeat) {
	w.time(h.Sent)
	w.time(h.Echo)
	w.u64(h.Backlog)
	w.zeros(heartbeatPadding)
	w.tlvs(h.Extensions)
}

func (r *reader) heartbeat() Heartbeat {
	h := Heartbeat{Sent: r.time(), Echo: r.time(), Backlog: r.u64()}
	r.zeros(heartbeatPadding)
	h.Extensions = r.extensions()
	return h
}

// DRAIN: reason u8 + ≤255, TLVs. DRAIN_DONE: TLVs.
