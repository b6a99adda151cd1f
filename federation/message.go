package federation

// Message is what a broker hands to a consumer and takes from a publisher.
type Message struct {
	Exchange   string
	RoutingKey string
	// Properties are the property flags and the property list of an AMQP 0-9-1 content header (section 4.2.6.1 of the
	// specification), byte for byte as they stood on the wire.
	Properties []byte
	Body       []byte
}

// Size is the bytes that the message takes in memory and in an entry, less fixed overhead.
func (m *Message) Size() int {
	return len(m.Exchange) + len(m.RoutingKey) + len(m.Properties) + len(m.Body)
}
