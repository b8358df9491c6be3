// SPDX-License-Identifier: MIT
// A Go service whose goroutines carry pprof labels with the IDs of the request
// that they work on, as OpenTelemetry's wrappers for profilers set them. It
// tells its spans as OTLP in JSON. Arguments: the port, the port of the
// receiver.
package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"log"
	"math/rand"
	"net/http"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"
)

var sink uint64

func burn() uint64 {
	sum := uint64(0)
	for i := uint64(0); i < 9000000; i++ {
		sum = sum*31 + i
	}
	return sum
}

//go:noinline
func work_alpha() { sink += burn() }

//go:noinline
func work_beta() { sink += burn() }

//go:noinline
func work_gamma() { sink += burn() }

type value struct {
	StringValue string `json:"stringValue"`
}

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

type span struct {
	TraceID      string      `json:"traceId"`
	SpanID       string      `json:"spanId"`
	ParentSpanID string      `json:"parentSpanId"`
	Name         string      `json:"name"`
	Kind         int         `json:"kind"`
	Start        string      `json:"startTimeUnixNano"`
	End          string      `json:"endTimeUnixNano"`
	Attributes   []attribute `json:"attributes"`
}

var (
	lock  sync.Mutex
	spans []span
)

func export(url string) {
	lock.Lock()
	batch := spans
	spans = nil
	lock.Unlock()
	if len(batch) == 0 {
		return
	}
	body, err := json.Marshal(map[string]interface{}{
		"resourceSpans": []interface{}{map[string]interface{}{
			"resource": map[string]interface{}{
				"attributes": []attribute{{"service.name", value{"go-service"}}},
			},
			"scopeSpans": []interface{}{map[string]interface{}{"spans": batch}},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		log.Print(err)
		return
	}
	answer.Body.Close()
	if answer.StatusCode != 200 {
		log.Print(answer.Status)
	}
}

func handle(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	parts := strings.Split(r.Header.Get("traceparent"), "-")
	if len(parts) != 4 {
		http.Error(w, "no traceparent", 400)
		return
	}
	id := make([]byte, 8)
	rand.Read(id)
	own := hex.EncodeToString(id)
	labels := pprof.Labels("trace_id", parts[1], "span_id", own)
	pprof.Do(r.Context(), labels, func(context.Context) {
		switch r.URL.Path {
		case "/alpha":
			work_alpha()
		case "/beta":
			work_beta()
		default:
			work_gamma()
		}
	})
	lock.Lock()
	spans = append(spans, span{
		TraceID: parts[1], SpanID: own, ParentSpanID: parts[2],
		Name: "GET " + r.URL.Path, Kind: 2,
		Start:      strconv.FormatInt(start.UnixNano(), 10),
		End:        strconv.FormatInt(time.Now().UnixNano(), 10),
		Attributes: []attribute{{"http.route", value{r.URL.Path}}},
	})
	lock.Unlock()
}

func main() {
	url := "http://127.0.0.1:" + os.Args[2] + "/v1/traces"
	go func() {
		for {
			time.Sleep(500 * time.Millisecond)
			export(url)
		}
	}()
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1],
		http.HandlerFunc(handle)))
}
