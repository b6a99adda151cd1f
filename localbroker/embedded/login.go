package embedded

import (
	"runtime"
	"time"
)

// clientProperties are the capabilities of a client that the broker asks about.
type clientProperties struct {
	cancelNotify  bool   // consumer_cancel_notify
	blockedNotify bool   // connection.blocked
	authNotify    bool   // authentication_failure_close
	name          string // connection_name, for people
}

// startArguments are what the broker says of itself.
//
//	version-major octet · version-minor octet · server-properties table · mechanisms longstr · locales longstr
func startArguments(product string) []byte {
	yes := boolValue(true)
	capabilities := table{
		{"publisher_confirms", yes}, {"exchange_exchange_bindings", yes}, {"basic.nack", yes},
		{"consumer_cancel_notify", yes}, {"connection.blocked", yes}, {"consumer_priorities", yes},
		{"authentication_failure_close", yes}, {"per_consumer_qos", yes}, {"direct_reply_to", yes},
	}
	server := table{
		{"capabilities", tableValue(capabilities)},
		{"product", textValue(product)},
		{"platform", textValue(runtime.Version())},
		{"information", textValue("In memory. Behaves as RabbitMQ 3.10.")},
		{"version", textValue("3.10.8")},
	}
	b := append([]byte{0, 9}, server.encode()...)
	b = appendLongString(b, "AMQPLAIN PLAIN")
	return appendLongString(b, "en_US")
}

// startOK checks the login and proposes the limits.
//
//	client-properties table · mechanism shortstr · response longstr · locale shortstr
func (c *connection) startOK(d *decoder) *exception {
	properties := d.table()
	c.client = readClientProperties(properties)
	mechanism, response := d.shortString(), d.longBytes()
	user, refused := c.broker.authenticate(mechanism, response)
	if refused != nil {
		return refused
	}
	c.user = user
	limits := &c.broker.limits
	args := appendShort(nil, limits.ChannelMax)
	args = appendLong(args, limits.FrameMax)
	c.out.method(0, connectionTune, appendShort(args, uint16(c.broker.cfg.Heartbeat/time.Second)))
	return nil
}

func readClientProperties(t table) clientProperties {
	capabilities, _ := t.get("capabilities").table()
	has := func(name string) bool { on, _ := capabilities.get(name).boolean(); return on }
	name, _ := t.get("connection_name").text()
	return clientProperties{
		cancelNotify:  has("consumer_cancel_notify"),
		blockedNotify: has("connection.blocked"),
		authNotify:    has("authentication_failure_close"),
		name:          name,
	}
}
