// Package mongojava is the in-memory Java server of MongoDB's protocol, mongo-java-server, a second
// server for tests of the driver mongodb. It is no server that experiments start: where it runs, it
// is named by its endpoint.
package mongojava

import (
	"context"
	"errors"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/internal/execution/server"
	"assay/store"
)

// Program is the server. Its binary is a script that make mongo-java writes beside the jars.
var Program = server.Program{
	Driver:   "mongodb",
	Binaries: []string{"assay-mongo-java"},
	Needs:    []string{"java", "mongo-java/mongo-java-server-core-*.jar"},
	Missing: "make mongo-java, in Assay's source tree, fetches it with Maven; Java: apt-get install " +
		"--no-install-recommends maven openjdk-17-jre-headless",
	InMemory: true,
	Class: func(class store.Durability) (options map[string]string, reached bool) {
		return nil, class == store.D0
	},
	Asked: func(*server.Instance) map[string]string { return nil }, // it reports none of its settings
	Command: func(i *server.Instance) (arguments, environment []string) {
		return []string{strconv.Itoa(i.Port)}, nil
	},
	Ready: func(ctx context.Context, i *server.Instance) error {
		_, err := version(ctx, i)
		return err
	},
	Settings: func(ctx context.Context, i *server.Instance) (map[string]string, error) {
		told, err := version(ctx, i)
		return map[string]string{"version": told}, err
	},
}

// version is the one of MongoDB that it says it is.
func version(ctx context.Context, i *server.Instance) (told string, err error) {
	client, err := mongo.Connect(options.Client().SetHosts([]string{i.Endpoint()}).SetDirect(true).
		SetRetryReads(false).SetServerSelectionTimeout(time.Second))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, client.Disconnect(ctx)) }()
	answer, err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Raw()
	if err != nil {
		return "", err
	}
	told, _ = answer.Lookup("version").StringValueOK()
	return told, nil
}
