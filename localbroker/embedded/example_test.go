package embedded_test

import (
	"context"
	"fmt"
	"log"
	"net"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/localbroker/embedded"
)

// A broker for a test or a demo, and a client that uses it like any other.
func Example() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	broker := embedded.New(embedded.Config{})
	served := make(chan error, 1)
	go func() { served <- broker.Serve(context.Background(), listener) }()

	publishHello("amqp://guest:guest@" + listener.Addr().String())
	for _, m := range broker.Snapshot("greetings") {
		fmt.Printf("%s: %s\n", m.RoutingKey, m.Body)
	}

	if err := broker.Close(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-served)
	// Output:
	// greetings: hello
	// the broker is closed
}

func publishHello(url string) {
	conn, err := amqp.Dial(url)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := ch.QueueDeclare("greetings", true, false, false, false, nil); err != nil {
		log.Fatal(err)
	}
	if err := ch.Confirm(false); err != nil {
		log.Fatal(err)
	}
	confirm, err := ch.PublishWithDeferredConfirm("", "greetings", true, false, amqp.Publishing{Body: []byte("hello")})
	if err != nil || !confirm.Wait() {
		log.Fatal("not published: ", err)
	}
}
