package yamlfile

import (
	"net/url"
	"slices"
	"strings"
)

// secretKeys end the names of keys whose value is a secret.
var secretKeys = []string{"password", "passwd", "passphrase", "secret", "token", "credential", "credentials", "api-key"}

// refuseSecrets reports secrets anywhere in the file: a password in a URL, key material, and a key such as password
// whose value is not a reference (file:/run/secrets/broker or env:BROKER_PASSWORD). The secret itself is never
// repeated.
func (f *File) refuseSecrets(n *Node) {
	switch {
	case strings.Contains(n.Text, "-----BEGIN"):
		f.reportNode(n, "the path of a file", "key material does not belong in this file")
	case urlWithPassword(n.Text):
		f.reportNode(n, "the URL without user and password, and the password as file:/path or env:NAME",
			"a URL with a password does not belong in this file")
	}
	for _, item := range n.Items {
		f.refuseSecrets(item)
	}
	for _, p := range n.Pairs {
		if namesSecret(p.Key) && p.Value.Kind == Scalar && !Reference(p.Value.Text) {
			f.reportNode(p.Value, "file:/path or env:NAME where this file knows the key",
				"a secret does not belong in this file")
		}
		f.refuseSecrets(p.Value)
	}
}

// Reference tells whether a value says where a secret is, instead of being one.
func Reference(value string) bool {
	return strings.HasPrefix(value, "file:") || strings.HasPrefix(value, "env:")
}

func namesSecret(key string) bool {
	key = strings.ToLower(strings.ReplaceAll(key, "_", "-"))
	return slices.ContainsFunc(secretKeys, func(s string) bool { return key == s || strings.HasSuffix(key, "-"+s) })
}

func urlWithPassword(text string) bool {
	if !strings.Contains(text, "://") {
		return false
	}
	u, err := url.Parse(text)
	if err != nil { // not a URL for Go, and still "user:password@" for people
		_, rest, _ := strings.Cut(text, "://")
		user, _, at := strings.Cut(rest, "@")
		return at && strings.Contains(user, ":")
	}
	_, set := u.User.Password()
	return set
}
