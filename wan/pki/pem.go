package pki

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxFile is the most that is read of a certificate or key file (chosen: 100 authorities are 70 KiB).
const maxFile = 1 << 20

func encodeCertificate(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// parseCertificates reads all certificates of a PEM file in their order.
func parseCertificates(b []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(all)+1, err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("no PEM block CERTIFICATE in it")
	}
	return all, nil
}

func readCertificates(path string) ([]*x509.Certificate, error) {
	b, err := readFile(path)
	if err != nil {
		return nil, err
	}
	certificates, err := parseCertificates(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return certificates, nil
}

// parseKey reads the first private key of a PEM file: PKCS #8 or SEC 1.
func parseKey(b []byte) (crypto.Signer, error) {
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			return nil, errors.New("no PEM block PRIVATE KEY in it")
		}
		switch block.Type {
		case "PRIVATE KEY":
			key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if signer, ok := key.(crypto.Signer); ok {
				return signer, nil
			}
			return nil, errors.Join(errors.New("not a key that signs"), err)
		case "EC PRIVATE KEY":
			return x509.ParseECPrivateKey(block.Bytes)
		}
	}
}

func readKey(path string) (crypto.Signer, error) {
	if err := checkPrivate(path); err != nil {
		return nil, err
	}
	b, err := readFile(path)
	if err != nil {
		return nil, err
	}
	key, err := parseKey(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// checkPrivate refuses a key that others can read or that the group can change.
func checkPrivate(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o027 != 0 {
		return fmt.Errorf("%s: mode %#o lets others at the private key; chmod 600 %s", path, mode, path)
	}
	return nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s: over %d bytes", path, maxFile)
	}
	return b, err
}

func samePublicKey(a, b crypto.PublicKey) bool {
	k, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && k.Equal(b)
}
