/** A proxy that loads a built-in module of Node at the first access to a member. Runs in the bundle. */
export function lazyBuiltin(load) {
  let loaded
  const target = () => {
    loaded ??= load()
    return loaded
  }
  return new Proxy(
    {},
    {
      get: (_, name) => target()[name],
      has: (_, name) => name in target(),
      ownKeys: () => Reflect.ownKeys(target()),
      getOwnPropertyDescriptor: (_, name) => {
        const found = Reflect.getOwnPropertyDescriptor(target(), name)
        return found && { ...found, configurable: true }
      },
    },
  )
}
