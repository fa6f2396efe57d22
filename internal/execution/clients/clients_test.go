package clients

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"
)

func TestClients(t *testing.T) {
	cs := &Clients{Context: context.Background(), Timeout: time.Minute}
	for _, threads := range []int{4, 4, 2} {
		if err := cs.Start(nil, []string{"cat"}, threads, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	if _, layout := cs.Readers(3, 7); !slices.Equal(layout, []int{3, 3, 1}) {
		t.Errorf("7 readers, at most 3 of each client: %v", layout)
	}
	cs.All[0].Gone = errors.New("it died")
	if threads, layout := cs.Readers(3, 100); threads != 5 || !slices.Equal(layout, []int{3, 2}) {
		t.Errorf("without the first client: %d in %v", threads, layout)
	}
	if cs.first() != cs.All[1] || len(cs.Living()) != 2 || len(cs.Pids()) != 3 {
		t.Errorf("%d live, the first is %d", len(cs.Living()), cs.first().Number)
	}
	second := errors.New("no")
	err := cs.InParallel(cs.All, func(c *Client) error {
		if c.Number == 1 {
			return second
		}
		return nil
	})
	if !errors.Is(err, second) || err.Error() != "process 2 of 3: no" {
		t.Errorf("got %v", err)
	}
	if left, err := cs.End(); left != 0 || err != nil {
		t.Errorf("%d left, %v", left, err)
	}
}
