package localbroker_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"strings"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
	"cloudqueue/localbroker/embedded"
)

func TestConfigSaysEverythingThatIsWrongAndNoSecret(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  localbroker.Config
		says []string
	}{
		{"password in the URL", localbroker.Config{URL: "amqp://anna:s3cret@host/", Site: "ams"}, []string{"holds a password", "password: file:"}},
		{"password in a URL that is not understood", localbroker.Config{URL: "amqp://anna:s3cret%@ho st/", Site: "ams"}, []string{"not understood"}},
		{"another scheme", localbroker.Config{URL: "http://host/", Site: "ams"}, []string{"amqp://host:5672"}},
		{"nothing", localbroker.Config{}, []string{"not understood", "the site (Site) is empty"}},
		{"unknown parameter", localbroker.Config{URL: "amqp://host/?cacertfile=x", Site: "ams"}, []string{`"cacertfile"`, "broker.authorities"}},
		{"heartbeat", localbroker.Config{URL: "amqp://host/?heartbeat=0", Site: "ams"}, []string{"heartbeat"}},
		{"mechanism", localbroker.Config{URL: "amqp://host/?auth_mechanism=magic", Site: "ams"}, []string{`"magic"`, "plain, amqplain, external"}},
		{"password without a user", localbroker.Config{URL: "amqp://host/", Password: "s3cret", Site: "ams"}, []string{"no user name"}},
		{"limits", localbroker.Config{URL: "amqp://host/", Site: "ams", Window: -1, FrameSize: 100, Heartbeat: 1500 * time.Millisecond, CallTimeout: -1, RetryMin: time.Second, RetryMax: time.Millisecond, PrefetchBytes: 1 << 40},
			[]string{"Window is -1", "RetryMin is 1s and RetryMax 1ms", "the frame size (FrameSize) is 100", "the heartbeat is 1.5s", "CallTimeout is -1ns", "PrefetchBytes"}},
	} {
		_, err := localbroker.New(c.cfg)
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		for _, want := range c.says {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", c.name, err, want)
			}
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error shows the password: %v", c.name, err)
		}
	}
}

func TestConfigTakesEveryUsualURL(t *testing.T) {
	for _, address := range []string{"amqp://host", "amqp://host/", "amqp://anna@host:5673/vhost", "amqps://host/%2f", "amqp://[::1]:5672/?heartbeat=30&auth_mechanism=external"} {
		if _, err := localbroker.New(localbroker.Config{URL: address, Site: "ams"}); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestTLSIsVerified(t *testing.T) {
	// given a broker behind TLS with a certificate for localhost
	server, roots := localhostCertificate(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{server}})
	must(t, err)
	broker := embedded.New(embedded.Config{})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	served := make(chan error, 1)
	go func() { served <- broker.Serve(ctx, l) }()
	run := func(config *tls.Config) *localbroker.Broker {
		b, err := localbroker.New(localbroker.Config{URL: "amqps://" + l.Addr().String() + "/", Site: "ams", TLS: config})
		must(t, err)
		ran := make(chan error, 1)
		go func() { ran <- b.Run(ctx) }()
		t.Cleanup(func() { stop(); <-ran })
		return b
	}
	// then who trusts it gets through
	p := run(&tls.Config{RootCAs: roots, ServerName: "localhost"}).Publisher(0)
	incarnation, err := p.Acquire(ctx, false)
	must(t, err)
	done := make(chan federation.Outcome, 1)
	p.Publish(ctx, incarnation, message("", "nobody", strings.Repeat("x", 300<<10)), func(o federation.Outcome) { done <- o })
	if o := <-done; o.Kind != federation.Returned {
		t.Fatalf("%+v", o)
	}
	// and who does not says why
	stranger := run(nil)
	for stranger.Status().Consuming.State != "down" || stranger.Status().Consuming.Fix == "" {
		time.Sleep(time.Millisecond)
		must(t, ctx.Err())
	}
	if s := stranger.Status().Consuming; !strings.Contains(s.Reason, "TLS") {
		t.Fatalf("%+v", s)
	}
	stop()
	<-served
}

// localhostCertificate makes a certificate for localhost, and what trusts it.
func localhostCertificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	leaf, err := x509.ParseCertificate(raw)
	must(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, roots
}
