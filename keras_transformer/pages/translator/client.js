// Asks the worker, which computes in a thread of its own, so that typing never stalls.

function startWorker() {
  const code = find("worker").textContent;
  const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const worker = new Worker(address);
  worker.addEventListener("message", ({ data }) => receive(data));
  URL.revokeObjectURL(address);
  return worker;
}

const worker = startWorker();
const pending = new Map(); // id of a request -> { resolve, reject, onStep }
let lastId = 0;

// Sends a request; see worker.js. Returns a promise of the answer, which is null if the request was
// cancelled, with the method `cancel`. The buffers in `moved` are moved instead of copied.
function ask(request, onStep = () => {}, moved = []) {
  const id = lastId += 1;
  const promise = new Promise((resolve, reject) => {
    pending.set(id, { resolve, reject, onStep });
    worker.postMessage({ ...request, id }, moved);
  });
  promise.cancel = () => {
    worker.postMessage({ cancel: id });
    pending.get(id)?.resolve(null);
    pending.delete(id);
  };
  return promise;
}

function receive({ id, step, result, error }) {
  const request = pending.get(id);
  if (!request) return; // cancelled
  if (step !== undefined) {
    request.onStep(step);
    return;
  }
  pending.delete(id);
  if (error !== undefined) request.reject(new Error(error));
  else request.resolve(result);
}
