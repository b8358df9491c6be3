// SPDX-License-Identifier: MIT
// A Node service with OpenTelemetry's SDK: a span per request, of the trace
// that traceparent names, exported over OTLP/HTTP. Arguments: the port, the
// port of the receiver.
const http = require('http');
const { context, propagation, trace } = require('@opentelemetry/api');
const { NodeTracerProvider, BatchSpanProcessor } =
	require('@opentelemetry/sdk-trace-node');
const { OTLPTraceExporter } =
	require('@opentelemetry/exporter-trace-otlp-http');
const { resourceFromAttributes } = require('@opentelemetry/resources');

const [port, otlp] = process.argv.slice(2).map(Number);
const exporter = new OTLPTraceExporter({
	url: `http://127.0.0.1:${otlp}/v1/traces`,
});
new NodeTracerProvider({
	resource: resourceFromAttributes({
		'service.name': 'node-service',
		'process.pid': process.pid,
	}),
	spanProcessors: [
		new BatchSpanProcessor(exporter, { scheduledDelayMillis: 500 }),
	],
}).register();
const tracer = trace.getTracer('weft-interop');

function burn() {
	let sum = 0;
	for (let i = 0; i < 3000000; i++)
		sum = (sum * 31 + i) % 65537;
	return sum;
}

// What is added keeps each a frame of its own.
function work_alpha() {
	return burn() + 1;
}

function work_beta() {
	return burn() + 2;
}

function work_gamma() {
	return burn() + 3;
}

const work = {
	'/alpha': work_alpha,
	'/beta': work_beta,
	'/gamma': work_gamma,
};

http.createServer((request, response) => {
	const parent = propagation.extract(context.active(), request.headers);
	const span = tracer.startSpan('GET ' + request.url, {
		kind: 1,
		attributes: { 'http.route': request.url },
	}, parent);

	work[request.url]();
	span.end();
	response.setHeader('Connection', 'close');
	response.end();
}).listen(port, '127.0.0.1');
