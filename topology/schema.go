package topology

import (
	"time"

	"cloudqueue/topology/yamlfile"
)

// The document as it stands in the file. docs/topology.md is its reference; a key that is added here is described
// there.
type schema struct {
	APIVersion string                 `yaml:"api-version"`
	Federation string                 `yaml:"federation"`
	Accept     []string               `yaml:"accept-stranding"`
	Sites      map[string]siteSchema  `yaml:"sites"`
	Links      *[]linkSchema          `yaml:"links"`
	Classes    map[string]classSchema `yaml:"classes"`
	Routes     map[string]routeSchema `yaml:"routes"`
	Modules    yamlfile.Later         `yaml:"modules" later:"nothing here, and declare exchanges and queues at the brokers"`
	Policies   yamlfile.Later         `yaml:"policies" later:"nothing here: routes alone say what may go where"`
}

type siteSchema struct {
	Listen     []string          `yaml:"listen"`
	Labels     map[string]string `yaml:"labels"`
	StoreQuota yamlfile.Later    `yaml:"store-quota" later:"nothing here, and store: {quota: 500GiB} in that site's router file"`
}

type linkSchema struct {
	Between   []string           `yaml:"between"`
	Bandwidth yamlfile.Bandwidth `yaml:"bandwidth"`
	Cost      int                `yaml:"cost"`
	OneWay    bool               `yaml:"one-way"`
	Transport []string           `yaml:"transport"`
	Classes   yamlfile.Later     `yaml:"classes" later:"nothing here: all classes share the link by their order"`
}

type classSchema struct {
	Strict      yamlfile.Later `yaml:"strict" later:"the class without settings"`
	Weight      yamlfile.Later `yaml:"weight" later:"the class without settings"`
	MaxDelay    yamlfile.Later `yaml:"max-delay" later:"the class without settings"`
	Compression yamlfile.Later `yaml:"compression" later:"the class without settings"`
}

type routeSchema struct {
	ID                string         `yaml:"id"`
	From              fromSchema     `yaml:"from"`
	To                []toSchema     `yaml:"to"`
	Class             string         `yaml:"class"`
	Order             string         `yaml:"order"`
	MaxMessageSize    *yamlfile.Size `yaml:"max-message-size"`
	MaxHops           *int           `yaml:"max-hops"`
	OnUnroutable      string         `yaml:"on-unroutable"`
	OnMissingExchange missingSchema  `yaml:"on-missing-exchange"`
	TrustUserID       bool           `yaml:"trust-user-id"`
	Shards            *int           `yaml:"shards"`
	MessageTTL        *time.Duration `yaml:"message-ttl"`
	OnExpired         yamlfile.Later `yaml:"on-expired" later:"the expiration property of the messages"`
}

type fromSchema struct {
	Site     string            `yaml:"site"`
	Sites    map[string]string `yaml:"sites"`
	Exchange *string           `yaml:"exchange"`
	Keys     []string          `yaml:"keys"`
	Declare  *declareSchema    `yaml:"declare"`
	Queue    *string           `yaml:"queue"`
	CQTo     yamlfile.Later    `yaml:"cq-to" later:"a route for each destination"`
}

type toSchema struct {
	Site       string  `yaml:"site"`
	Exchange   *string `yaml:"exchange"`
	RoutingKey *string `yaml:"routing-key"`
	Queue      *string `yaml:"queue"`
	Target     *int    `yaml:"target"`
}

type declareSchema struct {
	Type string `yaml:"type"`
}

// missingSchema is `hold` or `{declare: {type: topic}}`.
type missingSchema struct{ declare *declareSchema }

// DecodeNode reads either shape.
func (m *missingSchema) DecodeNode(n *yamlfile.Node, f *yamlfile.File) {
	if n.Kind == yamlfile.Map {
		var shape struct {
			Declare *declareSchema `yaml:"declare"`
		}
		f.Into(n, &shape)
		m.declare = shape.Declare
		return
	}
	if n.Kind != yamlfile.Scalar || n.Text != "hold" {
		f.Report(n.Path, "hold or {declare: {type: topic}}", "%q is not a way to treat a missing exchange", n.Text)
	}
}
