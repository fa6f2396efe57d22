package sqlkv

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"assay/drivers/internal/blocking"
	"assay/drivers/internal/wire"
	"assay/store"
)

// PlainTable is the table of keys and values. Records with columns have one for each definition,
// whose name continues this one: on a server, trials with other columns may have been there before.
const PlainTable = "records"

// TablesPattern is what the names of Assay's tables match, as a regular expression of SQL.
const TablesPattern = "^" + PlainTable + "(_[0-9a-f]{16})?$"

// RecordsTable is the table of records with these columns and indexes.
func RecordsTable(columns []store.Column, indexes []store.Index) string {
	return PlainTable + "_" + Fingerprint(columns, indexes)
}

// controlTimeoutMin bounds statements of the store's own: making a table, dropping one.
const controlTimeoutMin = time.Minute

// Server is the store of a database server, whichever it is: what it was asked for, what the server
// told of itself, and the link of a connection of its own, so that a look at the statistics waits for
// no operation. A driver's store embeds it, and gives it Rows.
type Server struct {
	wire.Bound // of what handles read

	// Place is Assay's own part of the server: a schema, or a database. It is made if it is not there,
	// and dropped when a trial has left it empty.
	Place   string
	Lean    bool // a connection of the library's for each handle, called directly
	Timeout time.Duration
	Class   store.Durability
	Window  time.Duration // T of D2(T)
	Blocks  bool          // sockets of handles: blocking.Suits

	Version string
	LossMax time.Duration // that the server's settings allow; 0: not in D2
	Records uint64        // that were there when it was opened
	Layout  Layout        // Define changes it, while no handle is open

	Link       *Link         // of the store's own connection
	Reconnects atomic.Uint64 // of handles

	// Rows runs a query on the store's own connection, and returns its rows as text.
	Rows func(text string, arguments ...any) ([][]string, error)

	placed string
}

// Configure takes what is asked for of a server. placed is the option that names its place. The driver may
// take the endpoints of replicas behind that of the server.
func (s *Server) Configure(driver, placed string, c store.Config, replicas bool) error {
	if len(c.Endpoints) == 0 || !replicas && len(c.Endpoints) > 1 {
		return fmt.Errorf("%s: expected one endpoint, got %d: %w", driver, len(c.Endpoints), store.ErrRefused)
	}
	s.placed, s.Place = placed, c.Options.String(placed)
	s.Lean, s.Timeout = c.Options.Choice("client") == "lean", c.Options.Duration("operation_timeout")
	s.Class, s.Window, s.Blocks = c.Durability, c.LossWindow, blocking.Suits(c)
	if s.Timeout <= 0 || s.Place == "" {
		return fmt.Errorf("%s: operation_timeout is %v and %s %q, expected more than 0 and a name: %w",
			driver, s.Timeout, placed, s.Place, store.ErrRefused)
	}
	s.Link = NewLink(max(s.Timeout, controlTimeoutMin), nil)
	return nil
}

// HandleLink is the link of a handle's connections.
func (s *Server) HandleLink() *Link {
	link := NewLink(s.Timeout, &s.Reconnects)
	link.Blocks, link.Bound = s.Blocks, &s.Bound
	return link
}

// LockPatience is how long another Assay may keep the lock of the place.
func (s *Server) LockPatience() time.Duration { return controlTimeoutMin / 2 }

// Value is the first value of the first row; "" without one, and for NULL.
func (s *Server) Value(text string, arguments ...any) (string, error) {
	rows, err := s.Rows(text, arguments...)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0][0], nil
}

// Column are the first values of all rows.
func (s *Server) Column(text string, arguments ...any) ([]string, error) {
	rows, err := s.Rows(text, arguments...)
	all := make([]string, len(rows))
	for i := range rows {
		all[i] = rows[i][0]
	}
	return all, err
}

// Empty reports whether none of some tables, whose names are quoted, has a record.
func (s *Server) Empty(tables []string) (bool, error) {
	for _, table := range tables {
		held, err := s.Value("SELECT EXISTS (SELECT 1 FROM " + table + ")")
		if err != nil || held != "0" && held != "f" { // of MariaDB and of PostgreSQL
			return false, err
		}
	}
	return true, nil
}

// Foreign says that the place is there, and that Assay did not make it.
func (s *Server) Foreign() error {
	return fmt.Errorf("%s %s is there, and Assay did not make it: option %s names another: %w", s.placed, s.Place, s.placed, store.ErrRefused)
}

// Need is a setting that a class rests on.
type Need struct {
	Setting string
	Values  []string
	Only    string // this setting must be ON for it to matter; "": it always does
}

// Prove asks the server for the settings on which the class rests.
func (s *Server) Prove(needs []Need, setting func(name string) (string, error)) error {
	for _, n := range needs {
		if n.Only != "" {
			if told, err := setting(n.Only); err != nil {
				return err
			} else if told != "ON" {
				continue
			}
		}
		told, err := setting(n.Setting)
		if err != nil {
			return err
		}
		if !slices.Contains(n.Values, told) {
			return fmt.Errorf("the server runs with %s=%s, and %s needs %s=%s: %w", n.Setting, told, s.Class, n.Setting, n.Values[0], store.ErrRefused)
		}
	}
	return nil
}

// ProveWindow holds T against what a crash may take as the server is set: with says by which setting.
func (s *Server) ProveWindow(lossMax time.Duration, with string) error {
	if s.LossMax = lossMax; s.Window < lossMax {
		return fmt.Errorf("D2(%v): with %s a crash loses what came in the last %v: expected D2(%v) or more: %w",
			s.Window, with, lossMax, lossMax, store.ErrRefused)
	}
	return nil
}

// Tell asks for settings by a query whose rows are names and values, with %s for the list of names.
// What the server does not report is left out.
func (s *Server) Tell(query string, names []string) map[string]string {
	told := map[string]string{"version": s.Version, "driver." + s.placed: s.Place,
		"driver.operation_timeout": s.Timeout.String(), "driver.client": "database/sql"}
	if s.Lean {
		told["driver.client"] = "lean"
	}
	if s.LossMax > 0 {
		told["driver.loss_max"] = s.LossMax.String()
	}
	blocking.Tell(told, s.Blocks)
	rows, _ := s.Rows(fmt.Sprintf(query, "'"+strings.Join(names, "', '")+"'"))
	for _, row := range rows {
		told[row[0]] = row[1]
	}
	return told
}

// Held is what the server's statistics say of the place's tables.
func (s *Server) Held() (records uint64, known bool) { return s.Records, true }
