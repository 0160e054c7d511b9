# A server for trained runs, on the CPU; docs/deploy.md says how to use it.
#
#   docker build --tag regard .
#   docker run --volume "$PWD/runs:/runs:ro" --publish 127.0.0.1:5000:5000 --stop-timeout 45 regard en-de

FROM python:3.11-slim-bookworm AS build
WORKDIR /source
RUN python -m venv /opt/regard
ENV PATH=/opt/regard/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY constraints.txt pyproject.toml README.md LICENSE ./
# PyTorch's own index has builds without CUDA. Dependencies form a layer that new code leaves as it is.
RUN pip install --upgrade --constraint constraints.txt pip setuptools && \
    pip install --constraint constraints.txt \
        --extra-index-url https://download.pytorch.org/whl/cpu torch && \
    pip install --only-deps --constraint constraints.txt --build-constraint constraints.txt \
        ".[serve,files,ctranslate2]"
COPY regard regard
RUN pip install --no-deps --build-constraint constraints.txt .

FROM python:3.11-slim-bookworm
RUN useradd --system --uid 10001 --home-dir /nonexistent --shell /usr/sbin/nologin regard
COPY --from=build /opt/regard /opt/regard
ENV PATH=/opt/regard/bin:$PATH PYTHONUNBUFFERED=1 MPLCONFIGDIR=/tmp/matplotlib
USER 10001
WORKDIR /runs
VOLUME /runs
EXPOSE 5000
# Requests that were accepted are still answered: see --stop-timeout above.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["python", "-c", \
    "from urllib.request import urlopen; urlopen('http://127.0.0.1:5000/health', timeout=4)"]
ENTRYPOINT ["regard", "serve", "--host", "0.0.0.0", "--port", "5000"]
CMD ["--help"]
