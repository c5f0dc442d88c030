// franz-go as a peer: what a peer is told and prints is documented in contract/src/lib.rs. Modes: "default"; "pools", with pools for
// decompressed bytes and records, which are recycled after each poll.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	module = "github.com/twmb/franz-go"
	wait   = time.Second
)

type arguments struct {
	bootstrapServer, topic, mode string
	partitions, passes           int
	records, limit               int64
}

type pass struct {
	Client   string  `json:"client"`
	Records  int64   `json:"records"`
	Bytes    int64   `json:"bytes"`
	WallS    float64 `json:"wall_s"`
	CPUS     float64 `json:"cpu_s"`
	MaxRSS   int64   `json:"max_rss"`
	Checksum string  `json:"checksum"`
	Polls    int64   `json:"polls"`
}

func main() {
	var a arguments
	flag.StringVar(&a.bootstrapServer, "bootstrap-server", "", "address of a broker")
	flag.StringVar(&a.topic, "topic", "", "the topic to read")
	flag.StringVar(&a.mode, "mode", "default", "default or pools")
	flag.IntVar(&a.partitions, "partitions", 0, "how many partitions it has")
	flag.IntVar(&a.passes, "passes", 1, "how many times to read it")
	flag.Int64Var(&a.records, "records", 0, "how many records are in it")
	flag.Int64Var(&a.limit, "limit", 120, "seconds that a pass may take")
	flag.Parse()
	if a.mode != "default" && a.mode != "pools" {
		log.Fatalf("no mode %q: there are default and pools", a.mode)
	}
	pools := &pools{}
	for range a.passes {
		line, err := read(a, pools)
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(line)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

// read makes one pass, with a client of its own: one client cannot be told to begin again.
func read(a arguments, pools *pools) (pass, error) {
	began, used := time.Now(), cpu()
	offsets := map[int32]kgo.Offset{}
	for partition := range a.partitions {
		offsets[int32(partition)] = kgo.NewOffset().AtStart()
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(a.bootstrapServer),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{a.topic: offsets}),
	}
	recycle := a.mode == "pools"
	if recycle {
		options = append(options, kgo.WithPools(pools))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return pass{}, err
	}
	defer client.Close()
	var count, sum, keys, values, polls int64
	for count < a.records {
		if time.Since(began) > time.Duration(a.limit)*time.Second {
			return pass{}, fmt.Errorf("no more than %d records came within %d s", count, a.limit)
		}
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		fetches := client.PollFetches(ctx)
		cancel()
		polls++
		fetches.EachRecord(func(record *kgo.Record) {
			count++
			sum += record.Offset
			keys += int64(len(record.Key))
			values += int64(len(record.Value))
			if recycle {
				record.Recycle()
			}
		})
	}
	wall, rss := time.Since(began), int64(0)
	cost := cpu() - used
	if rss, err = maxRSS(); err != nil {
		return pass{}, err
	}
	return pass{
		Client:   version(),
		Records:  count,
		Bytes:    keys + values,
		WallS:    wall.Seconds(),
		CPUS:     cost.Seconds(),
		MaxRSS:   rss,
		Checksum: strconv.FormatUint(uint64(sum+31*keys+1_000_003*values), 10),
		Polls:    polls,
	}, nil
}

// pools keeps what franz-go would else leave to the collector.
type pools struct{ bytes, records sync.Pool }

func (p *pools) GetDecompressBytes(compressed []byte, _ kgo.CompressionCodecType) []byte {
	if kept, ok := p.bytes.Get().(*[]byte); ok {
		return *kept
	}
	return make([]byte, 0, 4*len(compressed))
}

func (p *pools) PutDecompressBytes(b []byte) { p.bytes.Put(&b) }

func (p *pools) GetRecords(n int) []kgo.Record {
	if kept, ok := p.records.Get().(*[]kgo.Record); ok && cap(*kept) >= n {
		return *kept
	}
	return make([]kgo.Record, n)
}

func (p *pools) PutRecords(r []kgo.Record) { p.records.Put(&r) }

// cpu is the user and system time of all threads.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func maxRSS() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		if rest, found := bytes.CutPrefix(line, []byte("VmHWM:")); found {
			kib, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			return kib * 1024, err
		}
	}
	return 0, fmt.Errorf("no VmHWM in /proc/self/status")
}

func version() string {
	name := "franz-go"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == module {
				return name + " " + dependency.Version[1:]
			}
		}
	}
	return name
}
