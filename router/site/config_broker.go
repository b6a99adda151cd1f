package site

import (
	"cmp"
	"net/url"
)

// BrokerConfig tells how to reach the site's AMQP broker.
type BrokerConfig struct {
	URL         string // amqp:// or amqps://host:port/vhost, without user and password
	Username    string
	Password    Secret
	Authorities string // PEM file for amqps; empty: the system's
	Certificate string // PEM file of a client certificate for amqps, with Key; empty: none
	Key         string
}

type brokerSchema struct {
	URL         string `yaml:"url"`
	Username    string `yaml:"username"`
	Password    Secret `yaml:"password"`
	Authorities string `yaml:"authorities"`
	Certificate string `yaml:"certificate"`
	Key         string `yaml:"key"`
}

func (p *configParser) fillBroker() {
	in := p.in.Broker
	p.out.Broker = BrokerConfig{URL: in.URL, Username: in.Username, Password: p.secret(in.Password),
		Authorities: p.path(in.Authorities), Certificate: p.path(in.Certificate), Key: p.path(in.Key)}
	p.pair("broker", in.Certificate, in.Key)
	if in.URL == "" {
		p.missing("broker.url", "broker: {url: amqp://127.0.0.1:5672}")
		return
	}
	u, err := url.Parse(in.URL)
	if err != nil || u.Host == "" || u.Scheme != "amqp" && u.Scheme != "amqps" {
		p.file.Report("broker.url", "amqp://host:5672/vhost or amqps://host:5671/vhost", "this is not the URL of an AMQP broker")
		return
	}
	if u.User != nil {
		p.file.Report("broker.url", "the URL without a user, and username: "+u.User.Username(), "the user does not belong in the URL")
	}
	if u.Scheme == "amqp" && cmp.Or(in.Authorities, in.Certificate, in.Key) != "" {
		p.file.Report("broker.url", "amqps://"+u.Host+u.Path, "certificates are given, but this URL does not use TLS")
	}
	p.brokerLogin(in)
}

func (p *configParser) brokerLogin(in brokerSchema) {
	if in.Username == "" && in.Password != "" {
		p.file.Report("broker.username", "username: NAME", "a password is given without a username")
	}
	if in.Username != "" && in.Password == "" && in.Certificate == "" && !p.file.Failed("broker.password") {
		p.file.Report("broker.password", "password: file:/run/secrets/broker or password: env:BROKER_PASSWORD", "broker.password is missing")
	}
}
