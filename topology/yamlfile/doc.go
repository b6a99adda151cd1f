// Package yamlfile reads strict YAML files for admins into structs: the topology and a router's own file.
//
// Use it so:
//
//	var c struct {
//		Site   string                   `yaml:"site"`
//		Broker struct {
//			URL     string              `yaml:"url"`
//			Timeout time.Duration       `yaml:"timeout"`  // 30s
//			Window  yamlfile.Size       `yaml:"window"`   // 64MiB
//			Rate    yamlfile.Bandwidth  `yaml:"rate"`     // 400Mbit
//			Cluster yamlfile.Later      `yaml:"cluster" later:"one url"` // in the format, not in this version: reported when used
//		} `yaml:"broker"`
//		Peers map[string][]string       `yaml:"peers"`
//	}
//	f := yamlfile.Decode("router.yaml", source, &c) // every mistake is noted with line and column
//	if c.Site == "" {
//		f.Report("site", "site: ams", "the router's site is missing") // own checks, at a path
//	}
//	if err := f.Err(); err != nil { // Problems: all at once, in the order of the file
//		return err
//	}
//
// What is read: structs (keys are the `yaml` tags), maps with text keys, slices, strings, bools, int, int64,
// time.Duration, Size, Bandwidth, encoding.TextUnmarshaler, Decoder, and pointers to any of these (nil: the key is
// absent). A key without a value is a problem for a single value and an empty struct or map.
//
// What is refused, with what to write: unknown keys (the nearest known one is named), repeated keys, values of another
// shape, numbers without a unit where one is wanted, secrets (SecretsRefused), more than one document in a file.
// Anchors, aliases, merge keys and tags are not part of the format: nothing in a file grows when it is read. Size
// and depth are limited before the parser sees them (MaxSource, MaxDepth).
package yamlfile
