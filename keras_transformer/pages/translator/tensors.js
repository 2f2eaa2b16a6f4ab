// The weights of the page, and the arithmetic on them. A vector is a Float32Array. A matrix has a
// row for each output: { numbers, scales, columns }, where int8 numbers are multiplied by the scale
// of their row. Sums are accumulated in double precision and stored in single precision.

// All 65,536 numbers of half precision: a sign, 5 bits of exponent and 10 of mantissa.
const HALVES = Float32Array.from({ length: 1 << 16 }, (_, bits) => {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  return sign * (exponent ? (1024 + mantissa) * 2 ** (exponent - 25) : mantissa * 2 ** -24);
});

// Reads the tensors, which lie one after the other: { name: vector or matrix }. In int8, a matrix is
// the float32 scale of each row, then its rows of integers, which stay where they are.
function readTensors(descriptions, buffer) {
  const view = new DataView(buffer), tensors = {};
  let offset = 0;
  for (const { name, shape, dtype } of descriptions) {
    const [rows, columns = 1] = shape, count = rows * columns;
    const scales = new Float32Array(rows).fill(1);
    let numbers;
    if (dtype === "int8") {
      for (let i = 0; i < rows; i++) scales[i] = view.getFloat32(offset + 4 * i, true);
      numbers = new Int8Array(buffer, offset + 4 * rows, count);
      offset += 4 * rows + count;
    } else {
      numbers = new Float32Array(count);
      for (let i = 0; i < count; i++) numbers[i] = HALVES[view.getUint16(offset + 2 * i, true)];
      offset += 2 * count;
    }
    tensors[name] = shape.length === 1 ? numbers : { numbers, scales, columns };
  }
  return tensors;
}

// Four sums at a time, because a processor adds a number only after the one before it.
function dot(x, xStart, y, yStart, size) {
  let a = 0, b = 0, c = 0, d = 0, i = 0;
  for (; i + 3 < size; i += 4) {
    a += x[xStart + i] * y[yStart + i];
    b += x[xStart + i + 1] * y[yStart + i + 1];
    c += x[xStart + i + 2] * y[yStart + i + 2];
    d += x[xStart + i + 3] * y[yStart + i + 3];
  }
  for (; i < size; i++) a += x[xStart + i] * y[yStart + i];
  return a + b + c + d;
}

// W x + b, with W of as many rows as b has entries.
function linear({ weight, bias }, x, y = new Float32Array(bias.length)) {
  const { numbers, scales, columns } = weight;
  for (let i = 0; i < y.length; i++) {
    y[i] = scales[i] * dot(numbers, i * columns, x, 0, columns) + bias[i];
  }
  return y;
}

function rowOf({ numbers, scales, columns }, i) {
  return Float32Array.from(numbers.subarray(i * columns, (i + 1) * columns), (x) => scales[i] * x);
}

const add = (x, y) => x.map((number, i) => number + y[i]);

// Layer normalization: γ (x - mean) / √(variance + ε) + β.
function normalize({ gamma, beta, epsilon }, x) {
  let mean = 0, variance = 0;
  for (const number of x) mean += number / x.length;
  for (const number of x) variance += (number - mean) ** 2 / x.length;
  const scale = 1 / Math.sqrt(variance + epsilon);
  return x.map((number, i) => (number - mean) * scale * gamma[i] + beta[i]);
}

function softmax(scores) {
  const maximum = scores.reduce((x, y) => Math.max(x, y));
  const exponentials = scores.map((score) => Math.exp(score - maximum));
  const sum = exponentials.reduce((x, y) => x + y);
  return exponentials.map((x) => x / sum);
}

function logSumExp(x) {
  let maximum = -Infinity, sum = 0;
  for (const number of x) if (number > maximum) maximum = number;
  for (const number of x) sum += Math.exp(number - maximum);
  return Math.fround(maximum + Math.log(sum));
}

// The indices of the k largest allowed numbers, the largest first, of equal ones the first.
function topK(x, k, isAllowed = () => true) {
  const best = [];
  for (let i = 0; i < x.length; i++) {
    if (best.length === k && !(x[i] > x[best[k - 1]])) continue;
    if (!isAllowed(i)) continue;
    if (best.length === k) best.pop();
    let place = best.length;
    while (place > 0 && x[i] > x[best[place - 1]]) place--;
    best.splice(place, 0, i);
  }
  return best;
}
