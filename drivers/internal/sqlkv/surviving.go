package sqlkv

import (
	"context"
	"database/sql/driver"
	"fmt"
)

// Surviving returns a connector whose panics are errors: a library may panic over a server's greeting,
// and database/sql connects in a goroutine of its own, where no caller can recover.
func Surviving(c driver.Connector) driver.Connector { return surviving{c} }

type surviving struct{ driver.Connector }

func (s surviving) Connect(ctx context.Context) (c driver.Conn, err error) {
	defer func() {
		if trouble := recover(); trouble != nil {
			c, err = nil, fmt.Errorf("connecting, the client panicked: %v", trouble)
		}
	}()
	return s.Connector.Connect(ctx)
}
