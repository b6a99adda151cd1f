package embedded

// Here stand the faults that a test asks for: Fate is one message's, CloseConnection and CutConnection are one
// connection's.

// Fate is what becomes of a message that has passed every check: the outcomes that a publisher has to live through and
// that a broker in good health seldom shows.
type Fate int

const (
	// FateNormal: the message is routed, stored and confirmed.
	FateNormal Fate = iota
	// FateRefused: it is not stored, and is nacked in confirm mode.
	FateRefused
	// FateLost: it is not stored, and the connection is cut.
	FateLost
	// FateStoredThenCut: it is stored, and the connection is cut before anything is said.
	FateStoredThenCut
	// FateStoredSilently: it is stored, and no confirm ever comes.
	FateStoredSilently
	// FateCloses: it is not stored, and the connection is closed with 541, as RabbitMQ does when a process of its own
	// dies of a message.
	FateCloses
)

// Arrival is a message as Config.Fate sees it. Properties and Body must not be changed or kept.
type Arrival struct {
	Connection uint64
	Exchange   string
	RoutingKey string
	Properties []byte
	Body       []byte
}

// meetsFate asks for the fate of a publication; over is true when the message goes no further.
func (ch *channel) meetsFate(p *publication) (over bool, refused *exception) {
	ask := ch.broker.cfg.Fate
	if ask == nil {
		return false, nil
	}
	m := p.message
	p.fate = ask(Arrival{ch.connection.id, m.exchange, m.key(), m.properties.raw, m.body})
	switch p.fate {
	case FateRefused:
		ch.confirms.settle(ch, p.number, false)
		return true, nil
	case FateLost:
		ch.connection.doom()
		return true, nil
	case FateCloses:
		return true, fail(replyInternalError, "the message's fate")
	}
	return false, nil
}

// answer confirms a publication that has been delivered, unless its fate is another.
func (ch *channel) answer(p publication, accepted bool) {
	switch p.fate {
	case FateStoredThenCut:
		ch.connection.doom()
	case FateStoredSilently:
		ch.confirms.skip(ch)
	default:
		ch.confirms.settle(ch, p.number, accepted)
	}
}

// CloseConnection tells a client that an administrator ends its connection (320), as rabbitmqctl close_connection does.
// It does not wait. It is false when there is no such connection.
func (b *Broker) CloseConnection(id uint64, reason string) bool {
	c := b.connection(id)
	if c == nil {
		return false
	}
	c.leave(fail(replyConnectionForced, "%s", reason))
	return true
}

// CutConnection closes a connection's socket without a word, as a broken network would. It is false when there is no
// such connection.
func (b *Broker) CutConnection(id uint64) bool {
	c := b.connection(id)
	if c == nil {
		return false
	}
	c.cut()
	return true
}

func (b *Broker) connection(id uint64) *connection {
	b.mu.Lock()
	defer b.unlock()
	return b.connections[id]
}
