// Package clickhousego holds clickhouse-go's ordinary HTTP client against a running `quiclens serve`,
// as collectors written in Go and Grafana's plug-in use it. QUICLENS_SERVE_ADDRESS says where it listens.
package clickhousego

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

var compressions = map[string]clickhouse.CompressionMethod{
	"none": clickhouse.CompressionNone,
	"gzip": clickhouse.CompressionGZIP,
	"lz4":  clickhouse.CompressionLZ4,
	"zstd": clickhouse.CompressionZSTD,
}

func open(t *testing.T, method clickhouse.CompressionMethod) clickhouse.Conn {
	t.Helper()
	address := os.Getenv("QUICLENS_SERVE_ADDRESS")
	if address == "" {
		t.Skip("QUICLENS_SERVE_ADDRESS names no running quiclens serve")
	}
	conn, err := clickhouse.Open(&clickhouse.Options{
		Protocol:    clickhouse.HTTP,
		Addr:        []string{address},
		Auth:        clickhouse.Auth{Username: "writer", Password: os.Getenv("QUICLENS_SERVE_TOKEN")},
		Compression: &clickhouse.Compression{Method: method},
		Settings:    clickhouse.Settings{"max_execution_time": 60},
		DialTimeout: 5 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestEveryCompressionBothWays(t *testing.T) {
	for name, method := range compressions {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			conn := open(t, method)
			must(t, conn.Ping(ctx))
			const rows = 100_000
			found, err := conn.Query(ctx, "SELECT number AS n, concat('it\\'s ', toString(n)) AS text, ['a', 'b'] AS tags FROM numbers(100000)"+
				" WHERE n >= {least:UInt64} ORDER BY n", clickhouse.Named("least", 10))
			must(t, err)
			var count, sum uint64
			for found.Next() {
				var n uint64
				var text string
				var tags []string
				must(t, found.Scan(&n, &text, &tags))
				if text != fmt.Sprintf("it's %d", n) || len(tags) != 2 {
					t.Fatalf("row %d came back as %q %v", n, text, tags)
				}
				count++
				sum += n
			}
			must(t, found.Err())
			if count != rows-10 || sum != rows*(rows-1)/2-45 {
				t.Fatalf("%d rows with sum %d came back", count, sum)
			}
		})
	}
}

func TestAnErrorKeepsItsCode(t *testing.T) {
	for name, method := range compressions {
		t.Run(name, func(t *testing.T) {
			err := open(t, method).Exec(context.Background(), "SELECT * FROM nowhere")
			var exception *clickhouse.Exception
			if !errors.As(err, &exception) || exception.Code != 60 {
				t.Fatalf("expected UNKNOWN_TABLE, got %v", err)
			}
		})
	}
}

func TestAnEmptyAnswerHasNoRows(t *testing.T) {
	found, err := open(t, clickhouse.CompressionLZ4).Query(context.Background(), "SELECT 1 WHERE 0")
	must(t, err)
	if found.Next() {
		t.Fatal("a row came")
	}
	must(t, found.Err())
}

func TestABatchIsRefused(t *testing.T) {
	batch, err := open(t, clickhouse.CompressionNone).PrepareBatch(context.Background(), "INSERT INTO connection_aliases (alias)")
	if err == nil {
		must(t, batch.Append("a"))
		err = batch.Send()
	}
	var exception *clickhouse.Exception
	if !errors.As(err, &exception) || exception.Code != 164 {
		t.Fatalf("expected READONLY, got %v", err)
	}
}

func TestAFileIsRefused(t *testing.T) {
	err := open(t, clickhouse.CompressionNone).Exec(context.Background(), "SELECT * FROM file('/etc/hostname')")
	var exception *clickhouse.Exception
	if !errors.As(err, &exception) || exception.Code != 497 {
		t.Fatalf("expected ACCESS_DENIED, got %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
