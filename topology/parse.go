package topology

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"cloudqueue/federation"
	"cloudqueue/topology/yamlfile"
)

const apiVersion = "cloudqueue/v1"

// Parse reads a document. Name stands before the line numbers of problems. The error is Problems: all of them, in the
// order of the file.
func Parse(name string, src []byte) (*Document, error) {
	b := &builder{doc: &Document{name: name, source: slices.Clone(src), digest: sha256.Sum256(src)}}
	b.file = yamlfile.Decode(name, src, &b.in)
	if b.file.Root != nil {
		b.checkHead()
		b.addSites()
		b.addLinks()
		b.addClasses()
		b.addRoutes()
	}
	if err := b.file.Err(); err != nil {
		return nil, err
	}
	b.warn()
	return b.doc, nil
}

// builder makes a Document of what the file says and reports what it may not say. It goes on after a problem: an
// admin wants all of them.
type builder struct {
	in   schema
	file *yamlfile.File
	doc  *Document
}

func (b *builder) checkHead() {
	if b.in.APIVersion != "" && b.in.APIVersion != apiVersion {
		b.file.Report("api-version", apiVersion, "version %q of the format is not known to this version",
			b.in.APIVersion)
	}
	b.doc.federation = cmp.Or(b.in.Federation, DefaultFederation)
	b.checkName("federation", "federation", b.doc.federation)
	for i, digest := range b.in.Accept {
		if !validDigest(digest) {
			b.file.Report(fmt.Sprintf("accept-stranding[%d]", i),
				"the first 12 digits or more of the digest that `topology plan` shows",
				"%q is not a digest of a document", digest)
		}
	}
	b.doc.accepts = b.in.Accept
}

func validDigest(text string) bool {
	_, err := hex.DecodeString(text + strings.Repeat("0", len(text)%2))
	return err == nil && len(text) >= 12 && len(text) <= 2*sha256.Size && text == strings.ToLower(text)
}

// checkName accepts what can stand in a certificate, in the name of a queue and in a DNS label.
func (b *builder) checkName(path, what, name string) {
	if !federation.ValidName(name) {
		b.file.Report(path, nameRule, "%q is not a valid name of a %s", name, what)
	}
}

// checkKeyName is checkName for a name that stands as a key.
func (b *builder) checkKeyName(path, what, name string) bool {
	if federation.ValidName(name) {
		return true
	}
	b.file.ReportKey(path, nameRule, "%q is not a valid name of a %s", name, what)
	return false
}

const nameRule = "1 to 63 of a-z, 0-9 and -"

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
