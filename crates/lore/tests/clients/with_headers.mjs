// Passes requests on to a server with more headers: the conformance suite cannot send any of its own, a token for one.
//
// node with_headers.mjs http://127.0.0.1:8080 authorization "Bearer …"
//
// Prints the port it listens on, and ends with its standard input.
import http from 'node:http';

const [target, ...pairs] = process.argv.slice(2);
const added = {};
for (let at = 0; at + 1 < pairs.length; at += 2) added[pairs[at].toLowerCase()] = pairs[at + 1];

const server = http.createServer((request, response) => {
  const headers = { ...request.headers, ...added };
  const passed = http.request(new URL(request.url, target), { method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  passed.on('error', () => response.destroy());
  response.on('close', () => passed.destroy());
  request.pipe(passed);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => process.exit()).resume();
