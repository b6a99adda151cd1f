// Package localbroker is the router's side of the site's own AMQP 0-9-1 broker.
package localbroker
