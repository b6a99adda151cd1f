package site

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
	"cloudqueue/router/spool"
	"cloudqueue/wan/pki"
)

// LocalBroker is the file's broker as localbroker takes it. It reads the password and the certificates now.
func (c *Config) LocalBroker(logger *slog.Logger) (localbroker.Config, error) {
	password, err := c.Broker.Password.Resolve()
	if err != nil {
		return localbroker.Config{}, fmt.Errorf("broker.password: %w", err)
	}
	tlsConfig, err := clientTLS(c.Broker.Authorities, c.Broker.Certificate, c.Broker.Key)
	if err != nil {
		return localbroker.Config{}, fmt.Errorf("broker: %w", err)
	}
	return localbroker.Config{URL: c.Broker.URL, Username: c.Broker.Username, Password: password, TLS: tlsConfig, Site: c.Site,
		MaxMessageSize: largestMessage, Logger: logger}, nil
}

// largestMessage is the body of a message, in bytes, over which no record of the store holds it, not even as parked: it is not
// taken into memory, and waits in its queue for a person.
const largestMessage = federation.MaxEncodedBatch + 64<<10

// spool is the store's configuration as the spool takes it.
func (s StoreConfig) spool(log *slog.Logger) spool.Config {
	return spool.Config{SegmentSize: int64(s.SegmentSize), Quota: s.Quota, LaneQuota: s.LaneQuota, Logger: log}
}

// Paths are the files as wan/pki takes them.
func (f CertificateFiles) Paths() pki.Paths {
	return pki.Paths{Certificate: f.Certificate, Key: f.Key, Authorities: f.Authorities}
}

// TLS reads the certificates for etcd; nil when the file names none, and then the system's authorities count.
func (e *EtcdConfig) TLS() (*tls.Config, error) {
	config, err := clientTLS(e.Authorities, e.Certificate, e.Key)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	return config, nil
}

// clientTLS makes a client's configuration of PEM files; without any it is nil.
func clientTLS(authorities, certificate, key string) (*tls.Config, error) {
	if authorities == "" && certificate == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities != "" {
		pem, err := os.ReadFile(authorities)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: there is no certificate in it: it must be a PEM file", authorities)
		}
	}
	if certificate != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("%s with %s: %w", certificate, key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
