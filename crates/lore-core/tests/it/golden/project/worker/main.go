// Command worker takes jobs from the server and runs them.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"strconv"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	concurrency, err := strconv.Atoi(os.Getenv("FERRY_CONCURRENCY"))
	if err != nil || concurrency < 1 {
		concurrency = 4
	}
	source := NewSource(os.Getenv("FERRY_SERVER"), os.Getenv("FERRY_TOKEN"))
	pool := NewPool(concurrency, source, handlers())
	log.Printf("working on %d jobs at once", concurrency)
	pool.Run(ctx)
}

// handlers names what this worker can do.
func handlers() map[string]Handler {
	return map[string]Handler{
		"mail":  sendMail,
		"print": printPayload,
	}
}

func sendMail(ctx context.Context, job Job) error {
	log.Printf("mail for job %d: %s", job.ID, job.Payload)
	return ctx.Err()
}

func printPayload(_ context.Context, job Job) error {
	log.Print(job.Payload)
	return nil
}
