package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func emptyServer(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestPoolStopsWhenTheContextEnds(t *testing.T) {
	pool := NewPool(3, NewSource(emptyServer(t).URL, "token"), nil)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	done := make(chan struct{})
	go func() {
		pool.Run(ctx)
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("the pool did not stop")
	}
}

func TestNextGivesErrNoJobs(t *testing.T) {
	source := NewSource(emptyServer(t).URL, "token")
	if _, err := source.Next(context.Background()); !errors.Is(err, ErrNoJobs) {
		t.Fatalf("got %v, want ErrNoJobs", err)
	}
}

func TestRetryStopsAtPermanentErrors(t *testing.T) {
	calls, broken := 0, errors.New("broken")
	err := Retry(context.Background(), DefaultBackoff, func() error {
		calls++
		return Permanent{broken}
	})
	if calls != 1 || !errors.Is(err, broken) {
		t.Fatalf("%d calls, %v", calls, err)
	}
}
