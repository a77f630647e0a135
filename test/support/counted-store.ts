/**
 * A store that counts the requests to another one, as a store on another machine would receive them. The parts of an opened agent
 * come with it, and so do those of a lease. Only a later look at the inbox is a request of its own.
 */
import type { Store } from '../../src/storage/store.js'

/** No request: names for people, and things of this host or of a home in files. */
const LOCAL = ['label', 'local', 'upkeep', 'homeId', 'format', 'address', 'isShared']
const PARTS = ['mail', 'keys', 'visits', 'requests', 'waits', 'hosts', 'moves', 'removed']

export interface CountedStore {
  store: Store
  /** The name of each request, in order. */
  requests: string[]
}

export function countedStore(inner: Store): CountedStore {
  const requests: string[] = []
  const counted = <T extends object>(target: T, prefix: string, wrap = (result: unknown) => result): T =>
    new Proxy(target, {
      get(object, key) {
        const value = Reflect.get(object, key, object)
        const name = `${prefix}${String(key)}`
        if (typeof value !== 'function') {
          if (isGetter(object, key)) requests.push(name)
          return value
        }
        return (...args: unknown[]) => {
          requests.push(name)
          const result = value.apply(object, args)
          return result instanceof Promise ? result.then(wrap) : wrap(result)
        }
      },
    })

  const lease = (held: unknown): unknown => {
    if (typeof held !== 'object' || held === null) return held
    let looks = 0
    let isAtRest = false
    return new Proxy(held, {
      get(object, key) {
        const value = Reflect.get(object, key, object)
        if (key === 'mailIds' && ++looks > 1) requests.push('lease.mailIds')
        if (typeof value !== 'function' || key === 'assertHeld') return bound(value, object)
        return (...args: unknown[]) => {
          if (!(key === 'release' && isAtRest)) requests.push(`lease.${String(key)}`)
          isAtRest ||= key === 'rest'
          return value.apply(object, args)
        }
      },
    })
  }

  const store = new Proxy(inner, {
    get(object, key) {
      const value = Reflect.get(object, key, object)
      const name = String(key)
      if (LOCAL.includes(name)) return bound(value, object)
      if (PARTS.includes(name)) return counted(value as object, `${name}.`)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        const result = value.apply(object, args)
        if (name === 'names') return counted(result, 'names.', lease)
        requests.push(name)
        if (result instanceof Promise) return result.then(lease)
        return result
      }
    },
  })
  return { store, requests }
}

function isGetter(object: object, key: string | symbol): boolean {
  const parent = Object.getPrototypeOf(object)
  return Object.getOwnPropertyDescriptor(parent, key)?.get !== undefined
}

function bound(value: unknown, object: object): unknown {
  return typeof value === 'function' ? value.bind(object) : value
}
