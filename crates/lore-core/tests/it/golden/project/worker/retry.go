package main

import (
	"context"
	"errors"
	"math/rand"
	"time"
)

// Backoff says how long to wait between attempts of a failed job.
type Backoff struct {
	First    time.Duration
	Limit    time.Duration
	Attempts int
}

// DefaultBackoff suits handlers that call other services.
var DefaultBackoff = Backoff{First: 100 * time.Millisecond, Limit: 30 * time.Second, Attempts: 5}

// Permanent marks an error that no retry can mend.
type Permanent struct{ Err error }

func (p Permanent) Error() string { return "permanent: " + p.Err.Error() }

// Retry calls fn until it succeeds, the attempts are used up, or the error is permanent.
func Retry(ctx context.Context, backoff Backoff, fn func() error) error {
	var err error
	for attempt := 0; attempt < backoff.Attempts; attempt++ {
		if err = fn(); err == nil {
			return nil
		}
		var permanent Permanent
		if errors.As(err, &permanent) {
			return permanent.Err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(backoff.delay(attempt)):
		}
	}
	return err
}

func (b Backoff) delay(attempt int) time.Duration {
	delay := b.First << attempt
	if delay > b.Limit || delay <= 0 {
		delay = b.Limit
	}
	return delay/2 + time.Duration(rand.Int63n(int64(delay/2)+1))
}
