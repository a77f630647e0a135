import path from 'node:path'

/** Builds with replaced text for some files of src/: `sources` maps their paths to the text. */
export function replacing(root, sources) {
  return {
    name: 'replacing',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/, namespace: 'file' }, (loaded) => {
        const contents = sources.get(path.relative(path.join(root, 'src'), loaded.path))
        return contents === undefined ? undefined : { contents, loader: 'ts' }
      })
    },
  }
}
