// Command etcd runs one etcd member that a test can kill and start again on the same folder.
//
//	etcd -dir FOLDER -client 12379 -peer 12380
//
// It listens on 127.0.0.1 alone, without TLS, and ends cleanly on SIGTERM.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
)

func main() {
	dir := flag.String("dir", "", "where the data lies")
	client := flag.Int("client", 0, "port for clients")
	peer := flag.Int("peer", 0, "port for peers")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx, *dir, *client, *peer)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string, client, peer int) error {
	config := embed.NewConfig()
	config.Dir = dir
	config.LogLevel = "warn"
	config.ListenClientUrls, config.ListenPeerUrls = local(client), local(peer)
	config.AdvertiseClientUrls, config.AdvertisePeerUrls = local(client), local(peer)
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer etcd.Close()
	select {
	case <-ctx.Done():
		return nil
	case err := <-etcd.Err():
		return err
	}
}

func local(port int) []url.URL {
	return []url.URL{{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}}
}
