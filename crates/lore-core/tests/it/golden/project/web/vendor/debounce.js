/*! debounce 2.1.0, copied in because the package pulls in more than it gives. */

/**
 * Calls a function once, when it has not been asked for during some milliseconds.
 */
export function debounce(fn, delay) {
  let timer = null;
  function debounced(...args) {
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(() => {
      timer = null;
      fn.apply(this, args);
    }, delay);
  }
  debounced.cancel = function cancel() {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
  return debounced;
}

/**
 * Calls a function at once and then at most once in some milliseconds: a rate limiter for events.
 */
export function throttle(fn, delay) {
  let last = 0;
  return function throttled(...args) {
    const now = Date.now();
    if (now - last < delay) return;
    last = now;
    fn.apply(this, args);
  };
}
