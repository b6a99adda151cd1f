package embedded

// Fate is what becomes of a message that has passed every check: the outcomes that a publisher has to live through and that
// a broker in good health seldom shows.
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
	// FateCloses: it is not stored, and the connection is closed with 541, as RabbitMQ does when a process of its own dies of a message.
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
