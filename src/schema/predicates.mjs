// Writes JSON Schemas as JavaScript predicates. ajv's standalone code does the same in twenty times the bytes, which every
// start of a command would load (docs/performance.md). test/schema compares the two on generated values.

/** A module that exports `name`: a predicate per key of `groups`, or per field of each of its objects. */
export function predicateModule(exported, schemas) {
  const shared = new Map()
  const definitions = Object.assign({}, ...schemas.map(([, schema]) => schema.$defs ?? {}))
  const rows = schemas.map(([key, schema]) => {
    const fields = Object.entries(schema.properties ?? {}).map(
      ([field, value]) =>
        `${JSON.stringify(field)}:${sharedPredicate(fieldTest(schema, field, value, 'v'), shared)}`,
    )
    return `${JSON.stringify(key)}:{${fields.join(',')}}`
  })
  const named = Object.entries(definitions).map(
    ([name, schema]) => `const ${identifier(name)}=(v)=>${test(schema, 'v')}`,
  )
  const hoisted = [...shared].map(([code, name]) => `const ${name}=(v)=>${code}`)
  return [
    "const isObject=(v)=>typeof v==='object'&&v!==null&&!Array.isArray(v)",
    ...named,
    ...hoisted,
    `export const ${exported}={\n${rows.join(',\n')}\n}`,
    '',
  ].join('\n')
}

function sharedPredicate(code, shared) {
  const reference = /^(\w+)\(v\)$/.exec(code)?.[1]
  if (reference !== undefined) return reference
  const name = shared.get(code) ?? `p${shared.size}`
  shared.set(code, name)
  return name
}

/** An expression that tests one property, which may be missing unless the object requires it. */
function fieldTest(schema, field, value, variable) {
  const isRequired = schema.required?.includes(field) === true
  return isRequired ? test(value, variable) : `(${variable}===undefined||${test(value, variable)})`
}

const UNTESTED = ['description', 'title', 'id', '$defs', '$schema']

/** An expression that is true if the variable has a value of the schema. Throws on a keyword that it does not know. */
function test(schema, variable) {
  const { type, ...rest } = Object.fromEntries(
    Object.entries(schema).filter(([key]) => !UNTESTED.includes(key)),
  )
  const known = (...keys) => {
    const other = Object.keys(rest).filter((key) => !keys.includes(key))
    if (other.length > 0) throw new Error(`no predicate for ${other} in ${JSON.stringify(schema)}`)
  }
  if (rest.$ref !== undefined) {
    known('$ref')
    return `${identifier(rest.$ref.replace('#/$defs/', ''))}(${variable})`
  }
  if (rest.anyOf !== undefined) {
    known('anyOf')
    return `(${rest.anyOf.map((each) => test(each, variable)).join('||')})`
  }
  if (rest.enum !== undefined || rest.const !== undefined) {
    known('enum', 'const')
    const words = rest.enum ?? [rest.const]
    return `(${words.map((word) => `${variable}===${JSON.stringify(word)}`).join('||')})`
  }
  if (Array.isArray(type))
    return `(${type.map((each) => test({ ...rest, type: each }, variable)).join('||')})`
  switch (type) {
    case undefined:
      known()
      return 'true'
    case 'null':
      known()
      return `${variable}===null`
    case 'boolean':
      known()
      return `typeof ${variable}==='boolean'`
    case 'string':
      known('pattern')
      return `typeof ${variable}==='string'${rest.pattern === undefined ? '' : `&&/${rest.pattern}/.test(${variable})`}`
    case 'number':
    case 'integer':
      known('minimum', 'maximum')
      return numberTest(type, rest, variable)
    case 'array':
      known('items')
      return `Array.isArray(${variable})&&${variable}.every((v)=>${test(rest.items, 'v')})`
    case 'object': {
      known('properties', 'required', 'additionalProperties', 'propertyNames')
      const fields = Object.entries(rest.properties ?? {}).map(([field, value]) =>
        fieldTest(rest, field, value, `${variable}.${field}`),
      )
      const values = test(rest.additionalProperties ?? {}, 'v')
      const others = values === 'true' ? [] : [`Object.values(${variable}).every((v)=>${values})`]
      const { pattern } = rest.propertyNames ?? {}
      const names = pattern === undefined ? [] : [`Object.keys(${variable}).every((v)=>/${pattern}/.test(v))`]
      return [`isObject(${variable})`, ...fields, ...names, ...others].join('&&')
    }
  }
  throw new Error(`no predicate for type ${type}`)
}

/** zod gives the range of safe integers as the bounds of every integer. */
function numberTest(type, { minimum, maximum }, variable) {
  const kind = `Number.${type === 'integer' ? 'isSafeInteger' : 'isFinite'}(${variable})`
  const from = minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? '' : `&&${variable}>=${minimum}`
  const to = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? '' : `&&${variable}<=${maximum}`
  return `${kind}${from}${to}`
}

function identifier(name) {
  return `is_${name}`
}
