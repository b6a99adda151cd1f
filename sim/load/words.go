package load

// The dictionary of the events. How large it is decides, with the random identities, how well they compress.
var (
	eventTypes = []string{"compute.instance.create.start", "compute.instance.create.end", "compute.instance.update", "compute.instance.delete.end",
		"compute.instance.resize.confirm", "volume.attach.end", "volume.detach.end", "network.port.update", "network.router.create", "image.upload"}
	regions  = []string{"eu-west-1", "eu-central-2", "us-east-1", "us-west-2", "ap-southeast-1", "ap-northeast-1"}
	services = []string{"scheduler", "conductor", "compute", "volume", "network", "image", "identity", "billing"}
	flavors  = []string{"m1.small", "m1.medium", "m1.large", "c2.xlarge", "c2.2xlarge", "r3.large", "g4.xlarge"}
	states   = []string{"building", "active", "paused", "suspended", "stopped", "resized", "error", "deleted", "migrating"}
	words    = []string{"instance", "volume", "network", "attached", "detached", "created", "deleted", "scheduled", "on", "host", "by", "request", "of", "tenant",
		"after", "retry", "quota", "checked", "image", "cached", "port", "bound", "address", "allocated", "migration", "completed", "resize", "confirmed",
		"snapshot", "taken", "within", "limits", "policy", "applied", "without", "errors", "state", "changed", "from", "to", "the", "agent", "reported"}
)
