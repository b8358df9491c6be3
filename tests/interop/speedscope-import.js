// SPDX-License-Identifier: MIT
// Read profiles with the importer of speedscope's own npm package, and print
// for each: name, total weight, unit, number of samples, how many frames, and
// self weights by name. The package is one bundle for browsers; its importer
// is found by how the page hands it a file, and called without the page.
//
//     node speedscope-import.js PACKAGE FILE...
'use strict'
const fs = require('fs')
const path = require('path')
const vm = require('vm')

const [release, ...files] = process.argv.slice(2)
const dir = path.join(release, 'dist/release')
const bundle = fs.readdirSync(dir).find(n => /^speedscope-.*\.js$/.test(n))
let source = fs.readFileSync(path.join(dir, bundle), 'utf8')
const call = /loadFileFromBase64:\((\w+),(\w+)\)=>\{this\.loadProfile\(\(\)=>(\w+)\(\1,\2\)\)\}/.exec(source)
if (!call)
  throw new Error('this speedscope takes files in another way')

// Anything that a page has: itself when called, read or made.
const anything = new Proxy(function () {}, {
  get: (_, key) => key === Symbol.toPrimitive ? () => '' : anything,
  apply: () => anything,
  construct: () => anything,
  set: () => true,
})
const page = {
  console, atob, btoa, setTimeout, clearTimeout, TextDecoder, TextEncoder,
  URL, performance, Blob, Uint8Array, ArrayBuffer, JSON,
  document: anything, navigator: { userAgent: '', platform: '' },
  localStorage: anything, requestAnimationFrame: () => 0, fetch: anything,
  location: { protocol: 'file:', hash: '', href: '' }, alert: () => {},
  addEventListener: () => {}, matchMedia: () => anything,
  FileReader: anything, Element: function () {}, devicePixelRatio: 1,
  process: undefined,
}
page.window = page.self = page.globalThis = page
vm.createContext(page)

// Functions are known from the start of the scope they are in.
const start = source.indexOf('{', source.indexOf('(()=>')) + 1
source = source.slice(0, start) +
  `globalThis.importer=(n,b)=>${call[3]}(n,b);` + source.slice(start)
try {
  vm.runInContext(source, page)
} catch (error) {
  // the page itself cannot be drawn here; the importer can do without
  if (process.env.VERBOSE)
    console.error(error)
}

async function read(file) {
  const group = await page.importer(path.basename(file),
    fs.readFileSync(file).toString('base64'))
  if (!group)
    return { file: path.basename(file), refused: true }
  const profile = group.profiles[group.indexToView]
  const self = {}
  let frames = 0
  profile.forEachFrame(f => {
    frames++
    self[f.name] = (self[f.name] || 0) + f.getSelfWeight()
  })
  const biggest = Object.fromEntries(
    Object.entries(self).sort((a, b) => b[1] - a[1]).slice(0, 20))
  return {
    file: path.basename(file), name: profile.getName(), frames,
    total: profile.getTotalWeight(), unit: profile.getWeightUnit(),
    weight: profile.getTotalNonIdleWeight(), self: biggest,
  }
}

(async () => {
  for (const file of files)
    console.log(JSON.stringify(await read(file)))
})().catch(error => {
  console.error(error)
  process.exit(1)
})
