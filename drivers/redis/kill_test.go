package redis_test

import (
	"io"
	"net"
	"testing"

	"assay/drivers/internal/drivertest"
	"assay/drivers/redis"
	"assay/store"
)

// TestAcknowledgedWritesSurviveTheServersProcess kills the real server. It is what D1 claims, and
// D3 claims more. D2 claims nothing of a kill.
func TestAcknowledgedWritesSurviveTheServersProcess(t *testing.T) {
	for class, policy := range map[store.Durability]string{store.D1: "no", store.D3: "always"} {
		t.Run(string(class), func(t *testing.T) {
			killable(t, "--appendonly", "yes", "--appendfsync", policy, "--save", "").KeepsWrites(t, func(endpoint string) (store.Store, store.Handle) {
				return open(t, endpoint, class, map[string]string{"operation_timeout": "1m"})
			})
		})
	}
}

func killable(t *testing.T, settings ...string) drivertest.Killable {
	t.Helper()
	binary, err := redis.Program.Find()
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	return drivertest.Killable{Binary: binary, Answers: answers, Arguments: func(port, directory string) []string {
		return append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", directory}, settings...)
	}}
}

func answers(endpoint string) bool {
	socket, err := net.Dial("tcp", endpoint)
	if err != nil {
		return false
	}
	defer socket.Close()
	_, _ = socket.Write([]byte("PING\r\n"))
	answer := make([]byte, 7)
	_, err = io.ReadFull(socket, answer)
	return err == nil && string(answer) == "+PONG\r\n"
}
